// Skipping with a reason. Run with "-r progress": a line per case and, last, "N passed, N failed, N skipped".
#pragma once

#include <string>

namespace rdmanet::test {

/// Marks the running test case as skipped: this machine lacks `what`. The case must return right after.
void mark_skipped(const std::string& what);

} // namespace rdmanet::test

/// Ends the test case as skipped unless `condition` holds; `what` is missing.
#define NEEDS(condition, what)                                                                                         \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            ::rdmanet::test::mark_skipped(what);                                                                       \
            return;                                                                                                    \
        }                                                                                                              \
    } while (false)
