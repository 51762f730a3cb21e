// Static constructors that only a person's commands need: of CLI11, of yaml-cpp, and of <iostream>, which both include.
// In the static executable they are in a section of their own (CMakeLists.txt), so that a call of the plugin doesn't
// wait for them.
#pragma once

namespace rdmanet::cmd {

/// Before anything else of the command line. Elsewhere they have run before main(), and this does nothing.
void run_late_constructors();

} // namespace rdmanet::cmd
