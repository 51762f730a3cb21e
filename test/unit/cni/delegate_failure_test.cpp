// Plugins that fail, and the messages about them.
#include "support/names.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/cni/error.hpp>

#include "plugin_fixture.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>

#include <cstdlib>
#include <utility>
#include <vector>

using namespace rdmanet;
using Catch::Matchers::Contains;
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

TEST_CASE("the error for a plugin that fails, or succeeds without a result, quotes what it printed") {
    const PluginFixture plugins;
    const std::vector<std::pair<const char*, std::vector<const char*>>> rows = {
        {R"(echo '{"msg": "no"}'; exit 1)", {"ADD", ": no"}},
        {R"(echo '{"code": 0, "msg": "no"}'; exit 1)", {"ADD", ": no"}},
        {"echo 'panic: nil map' >&2; exit 2", {"ADD", "status 2", "panic: nil map"}},
        {"kill -SEGV $$", {"ADD", "signal 11"}},
        {"echo rubbish; exit 1", {"ADD", "status 1", "line 1"}},
        {"echo '[]'; exit 1", {"object", "array"}},
        {"exit 0", {"ADD", "status 0"}},
        {"echo OK", {"ADD", "line 1"}},
        {R"(echo '{"ips": [{"address": "10.0.0.1"}]}')", {"ips[0].address", "\"10.0.0.1\""}},
        {"echo '{}'; echo '{}'", {"line 2"}},
        {"head -c 5000000 /dev/zero | tr '\\0' 'x'", {"ADD", "result"}}, // too much
    };
    for (const auto& [script, parts] : rows) {
        INFO(script);
        plugins.install(script);
        const std::string failure = plugins.add_failure();
        CHECK_THAT(failure, Names("106 IPAM plugin", "ipam"));
        for (const char* part : parts) CHECK_THAT(failure, Names(part));
    }
}

TEST_CASE("a missing plugin is an error, and so is a name that is not one of a file") {
    const PluginFixture plugins;
    cni::DelegateCall call = plugins.call();
    call.path = "/absent:" + plugins.path();
    CHECK_THAT(PluginFixture::failure_of(call), Names("106 IPAM plugin", "ipam", "CNI_PATH", call.path, "ipam.type"));
    call.path = "";
    CHECK_THAT(PluginFixture::failure_of(call), Names("4 required", "[CNI_PATH]", "ipam"));
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
