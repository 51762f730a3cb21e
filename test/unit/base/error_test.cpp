#include <rdmanet/base/error.hpp>

#include <catch2/catch.hpp>

#include <cerrno>

using namespace rdmanet::base;

TEST_CASE("a system error names what was tried and why it failed") {
    const SystemError error("move link \"eth0\"", EBUSY);
    CHECK(std::string(error.what()) == "move link \"eth0\": device or resource busy");
    CHECK(error.errno_value() == EBUSY);
    CHECK(errno_text(123456) == "error 123456");
}

TEST_CASE("added context precedes the message, and the type stays") {
    try {
        in_context("add", [] { in_context("lease", []() -> void { throw SystemError("open", ENOENT); }); });
        FAIL("no error");
    } catch (const SystemError& error) {
        CHECK(std::string(error.what()) == "add: lease: open: no such file or directory");
        CHECK(error.errno_value() == ENOENT);
    }
    CHECK(in_context("nothing", [] { return 7; }) == 7);
}
