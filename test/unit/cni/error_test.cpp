#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/cni/version.hpp>
#include <rdmanet/cni/version_output.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;
using cni::SpecVersion;

TEST_CASE("an error document has version, code, message and details, and is valid JSON, whatever they have") {
    CHECK(cni::format_error("1.0.0", 101, "interface \"net1\" exists", "in the pod") == R"({
    "cniVersion": "1.0.0",
    "code": 101,
    "msg": "interface \"net1\" exists",
    "details": "in the pod"
}
)");
    CHECK(cni::format_error("0.1.0", 7, "x", "").find("details") == std::string::npos);
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

TEST_CASE("versions match exactly, and no version means 0.1.0") {
    CHECK(cni::parse_version("") == SpecVersion::v0_1_0);
    CHECK(cni::parse_version("0.1.0") == SpecVersion::v0_1_0);
    CHECK(cni::parse_version("1.1.0") == SpecVersion::v1_1_0);
    for (const char* text : {"1.0", "1", "1.0.0 ", "v1.0.0", "01.0.0", "1.2.0", "0.4", "0.5.0", "1.0.0.0", "one"})
        CHECK_FALSE(cni::parse_version(text));
    for (const std::string_view text : cni::kVersionTexts) CHECK(cni::to_string(*cni::parse_version(text)) == text);
}

TEST_CASE("the answers to VERSION and to no command are the Go library's") {
    CHECK(cni::version_output() ==
          "{\"cniVersion\":\"1.1.0\","
          "\"supportedVersions\":[\"0.1.0\",\"0.2.0\",\"0.3.0\",\"0.3.1\",\"0.4.0\",\"1.0.0\",\"1.1.0\"]}\n");
    CHECK(cni::about_text("rdmanet", "1.2.3") ==
          "CNI plugin rdmanet v1.2.3\n"
          "CNI protocol versions supported: 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0\n");
}
