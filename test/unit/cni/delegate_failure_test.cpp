// Plugins that fail, and the messages about them.
#include "support/names.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/cni/error.hpp>

#include "plugin_fixture.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>

#include <cstdlib>

using namespace rdmanet;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using cni::PluginFixture;
using rdmanet::test::Names;

TEST_CASE("a plugin's own error keeps its code and details, and names the plugin") {
    const PluginFixture plugins;
    plugins.install(R"(echo '{"cniVersion": "1.0.0", "code": 11, "msg": "no lease yet", "details": "eth0"}'; exit 1)");
    try {
        (void)cni::delegate_add(plugins.call(), base::Deadline::in(cni::kPatience));
        FAIL("no error");
    } catch (const cni::CniError& error) {
        CHECK(error.code() == 11);
        CHECK_THAT(error.what(), Names("IPAM plugin", "ipam", "ADD", "no lease yet"));
        CHECK(error.details() == "eth0");
    }
}

TEST_CASE("an error without a code gets a default code") {
    const PluginFixture plugins;
    plugins.install(R"(echo '{"msg": "no"}'; exit 1)");
    CHECK_THAT(plugins.add_failure(), Names("106 IPAM plugin", "ipam", "ADD") && EndsWith(": no"));
    plugins.install(R"(echo '{"code": 0, "msg": "no"}'; exit 1)");
    CHECK_THAT(plugins.add_failure(), Names("106 IPAM plugin", "ipam", "ADD") && EndsWith(": no"));
}

TEST_CASE("the output of a plugin that fails without an error document is quoted") {
    const PluginFixture plugins;
    plugins.install("echo 'panic: nil map' >&2; exit 2");
    CHECK_THAT(plugins.add_failure(), Names("106 IPAM plugin", "ipam", "ADD", "status 2", "panic: nil map"));
    plugins.install("kill -SEGV $$");
    CHECK_THAT(plugins.add_failure(), Names("106 IPAM plugin", "ipam", "ADD", "signal 11"));
    plugins.install("echo rubbish; exit 1");
    CHECK_THAT(plugins.add_failure(), Names("106 IPAM plugin", "ipam", "ADD", "status 1", "line 1"));
    plugins.install("echo '[]'; exit 1");
    CHECK_THAT(plugins.add_failure(), Names("106 IPAM plugin", "object", "array"));
}

TEST_CASE("success without a result is an error") {
    const PluginFixture plugins;
    plugins.install("exit 0");
    CHECK_THAT(plugins.add_failure(), Names("106 IPAM plugin", "ipam", "ADD", "status 0"));
    plugins.install("echo OK");
    CHECK_THAT(plugins.add_failure(), Names("106 IPAM plugin", "ipam", "ADD", "line 1"));
    plugins.install(R"(echo '{"ips": [{"address": "10.0.0.1"}]}')");
    CHECK_THAT(plugins.add_failure(), Contains("ips[0].address") && Contains("\"10.0.0.1\""));
    plugins.install("echo '{}'; echo '{}'");
    CHECK_THAT(plugins.add_failure(), Names("106 IPAM plugin", "line 2"));
}

TEST_CASE("the output of a plugin is limited") {
    const PluginFixture plugins;
    plugins.install("head -c 5000000 /dev/zero | tr '\\0' 'x'");
    CHECK_THAT(plugins.add_failure(), Names("106 IPAM plugin", "ipam", "ADD", "result"));
}

TEST_CASE("a missing plugin is an error") {
    const PluginFixture plugins;
    cni::DelegateCall call = plugins.call();
    call.path = "/absent:" + plugins.directory();
    CHECK_THAT(PluginFixture::failure_of(call), Names("106 IPAM plugin", "ipam", "CNI_PATH", call.path, "ipam.type"));
    call.path = "";
    CHECK_THAT(PluginFixture::failure_of(call), Names("4 required", "[CNI_PATH]", "ipam"));
}

TEST_CASE("a plugin's name must be a file name") {
    const PluginFixture plugins;
    cni::DelegateCall call = plugins.call();
    for (const char* name : {"../ipam", "/bin/sh", "a/b", ".", "..", ""}) {
        call.plugin = name;
        CHECK_THAT(PluginFixture::failure_of(call), Names("7 ipam.type", "'/'"));
    }
    call.plugin = std::string("ipam\0x", 6);
    CHECK_THAT(PluginFixture::failure_of(call), StartsWith("7 "));
}

TEST_CASE("a plugin that cannot be executed is an error") {
    const PluginFixture plugins;
    plugins.install_as("ipam", "#!/bin/sh\n", 0644);
    CHECK_THAT(plugins.add_failure(),
               Names("106 IPAM plugin", "ADD", plugins.file("ipam"), "permission denied", "chmod 0755"));
    plugins.install_as("ipam", "#!/absent/interpreter\n", 0755);
    CHECK_THAT(plugins.add_failure(), Contains("interpreter"));
    plugins.install_as("ipam",
                       "\x7f"
                       "ELFrubbish",
                       0755);
    CHECK_THAT(plugins.add_failure(), Contains("exec format error: ") && Contains("this machine"));
}

TEST_CASE("a plugin that is being installed is tried again, up to the deadline") {
    const PluginFixture plugins;
    plugins.install("echo '{}'");
    const base::UniqueFd writer(::open(plugins.file("ipam").c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(writer);
    CHECK_THAT(plugins.add_failure(), Contains("text file busy: ")); // after some tries, long before the deadline
}

TEST_CASE("plugins that call each other in a circle get an error") {
    const PluginFixture plugins;
    plugins.install("echo '{}'");
    (void)::setenv("RDMANET_DELEGATION_DEPTH", "4", 1);
    CHECK_THAT(plugins.add_failure(), Contains("\"ipam.type\""));
    (void)::setenv("RDMANET_DELEGATION_DEPTH", "many", 1);
    CHECK_THAT(plugins.add_failure(), StartsWith("106 "));
    CHECK(cni::is_own_delegate());
    (void)::unsetenv("RDMANET_DELEGATION_DEPTH");
    CHECK_FALSE(cni::is_own_delegate());
    CHECK(plugins.add_failure() == "succeeded");
}
