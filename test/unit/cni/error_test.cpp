#include <rdmanet/cni/error.hpp>

#include <rdmanet/base/text.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;

TEST_CASE("an error document has version, code, message and details") {
    CHECK(cni::format_error("1.0.0", 101, "interface \"net1\" exists", "in the pod") == R"({
    "cniVersion": "1.0.0",
    "code": 101,
    "msg": "interface \"net1\" exists",
    "details": "in the pod"
}
)");
    CHECK(cni::format_error("0.1.0", 7, "x", "").find("details") == std::string::npos);
}

TEST_CASE("an error document is valid JSON, whatever the message has") {
    CHECK(cni::format_error("1.0.0", 7, "a\n\xff\x01", "").find("a\\n\xef\xbf\xbd\\u0001") != std::string::npos);
}

TEST_CASE("error codes have the specification's numbers") {
    using cni::ErrorCode;
    CHECK(cni::CniError(ErrorCode::incompatible_version, "x").code() == 1);
    CHECK(cni::CniError(ErrorCode::invalid_environment, "x").code() == 4);
    CHECK(cni::CniError(ErrorCode::undecodable, "x").code() == 6);
    CHECK(cni::CniError(ErrorCode::invalid_network_config, "x", "d").details() == "d");
    CHECK(cni::CniError(ErrorCode::try_again_later, "x").code() == 11);
    CHECK(cni::CniError(ErrorCode::plugin_not_available, "x").code() == 50);
}

TEST_CASE("DEL's texts never have the words that go-cni takes for success") {
    CHECK(cni::text_of_del("lease not found, pool not found") == "lease missing, pool missing");
    CHECK(cni::text_of_del("Not Found: open x: No such file or directory, no such files") ==
          "missing: open x: absent (ENOENT), absents");
    CHECK(cni::text_of_del("still held: device 0000:3b:00.2") == "still held: device 0000:3b:00.2");
    for (int number = 0; number < 256; ++number) {
        const std::string text =
            base::to_lower(cni::text_of_del(base::SystemError("open", number).what() + std::string(": not found")));
        INFO(text);
        CHECK(text.find("not found") == std::string::npos);
        CHECK(text.find("no such file") == std::string::npos);
    }
}
