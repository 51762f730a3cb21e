// All tests rely on the reporter. It must survive the failures that it reports.
#include "support/process.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace rdmanet::test {

using Catch::Contains;

namespace {

constexpr const char* kFailure =
    "a failure whose name has a colon where a line of its header of eighty characters is almost over: it is reported";

} // namespace

TEST_CASE(kFailure, "[.failure]") {
    SECTION("a part of it whose name has a colon where a line of its header of eighty characters is over: also") {
        CHECK(1 == 2);
    }
}

TEST_CASE("a failure is reported and counted, whatever its case's name is", "[reporter]") {
    const ProcessResult result = run_process({"/proc/self/exe", "-r", "progress", "[.failure]"});
    CHECK(result.exit_status == 1);
    CHECK_THAT(result.out, Contains(std::string("FAIL ") + kFailure) && Contains("0 passed, 1 failed, 0 skipped"));
}

} // namespace rdmanet::test
