// Static constructors that only a person's commands need: those of CLI11, of yaml-cpp, and of <iostream>, which both
// include. In the static executable they have a section of their own (CMakeLists.txt), so that plugin calls do not
// wait for them.
#pragma once

namespace rdmanet::cmd {

/// Call this before any code of the command line. In other builds the constructors run before main(), and this does
/// nothing.
void run_late_constructors();

} // namespace rdmanet::cmd
