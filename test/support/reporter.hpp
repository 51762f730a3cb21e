// Skips cases with a reason. "-r progress" prints a line for each case and, last, "N passed, N failed, N skipped".
#pragma once

#include <string>

namespace rdmanet::test {

/// Marks the running case as skipped, because this machine lacks `what`. The case must return right after.
void mark_skipped(const std::string& what);

/// The same for fixtures: ends the case as well.
[[noreturn]] void skip(const std::string& what);

} // namespace rdmanet::test

/// Skips the case unless `condition` holds. `what` names what is missing.
#define NEEDS(condition, what)                                                                                         \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            ::rdmanet::test::mark_skipped(what);                                                                       \
            return;                                                                                                    \
        }                                                                                                              \
    } while (false)
