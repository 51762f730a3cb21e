#include <rdmanet/cni/version.hpp>
#include <rdmanet/cni/version_output.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;
using cni::SpecVersion;

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
