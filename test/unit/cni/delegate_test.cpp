#include "support/names.hpp"

#include <rdmanet/base/file.hpp>

#include "plugin_fixture.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

using namespace rdmanet;
using cni::PluginFixture;
using rdmanet::test::Names;

namespace {

const base::Deadline kSoon = base::Deadline::in(std::chrono::minutes(5));

std::string read(const std::string& path) {
    return base::read_file(path, 100U << 20U);
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator descriptors("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(descriptors), end(descriptors)));
}

} // namespace

TEST_CASE("a plugin gets the unchanged configuration, and the call in its environment") {
    const PluginFixture plugins;
    plugins.install("cat > $CNI_PATH/stdin; env > $CNI_PATH/env\n"
                    "echo '{\"cniVersion\": \"1.0.0\", \"ips\": [{\"address\": \"10.0.0.5/24\"}]}'");
    (void)::setenv("CNI_COMMAND", "CHECK", 1);
    (void)::setenv("TRACEPARENT", "00-trace-01", 1);
    const auto result = cni::delegate_add(plugins.call(), kSoon);
    (void)::unsetenv("CNI_COMMAND");
    (void)::unsetenv("TRACEPARENT");
    CHECK(result.ips.at(0).address.to_string() == "10.0.0.5/24");
    CHECK(read(plugins.file("stdin")) == plugins.call().config);
    const std::string environment = "\n" + read(plugins.file("env"));
    for (const char* variable : {"CNI_COMMAND=ADD", "CNI_CONTAINERID=c1", "CNI_NETNS=/run/netns/p", "CNI_IFNAME=net1",
                                 "CNI_ARGS=IgnoreUnknown=1", "TRACEPARENT=00-trace-01", "RDMANET_DELEGATION_DEPTH=1"})
        CHECK(environment.find(std::string("\n") + variable + "\n") != std::string::npos);
    CHECK(environment.find("CNI_COMMAND=CHECK") == std::string::npos);
}

TEST_CASE("every command is passed on, and only ADD returns output") {
    const PluginFixture plugins;
    plugins.install("echo $CNI_COMMAND >> $CNI_PATH/commands");
    cni::delegate_del(plugins.call(), kSoon);
    cni::delegate_check(plugins.call(), kSoon);
    cni::delegate_gc(plugins.call(), kSoon);
    cni::delegate_status(plugins.call(), kSoon);
    CHECK(read(plugins.file("commands")) == "DEL\nCHECK\nGC\nSTATUS\n");
}

TEST_CASE("a result has its own version or the configuration's, and null is an empty result") {
    const PluginFixture plugins;
    plugins.install(R"(echo '{"cniVersion": "0.2.0", "ip4": {"ip": "10.0.0.5/24"}}')");
    CHECK(cni::delegate_add(plugins.call(), kSoon).ips.size() == 1);
    plugins.install(R"(echo '{"ips": [{"address": "10.0.0.5/24"}]}')");
    CHECK(cni::delegate_add(plugins.call(), kSoon).ips.size() == 1);
    plugins.install("echo null");
    CHECK(cni::delegate_add(plugins.call(), kSoon).ips.empty());
}

TEST_CASE("the first directory with a regular file of the name is used") {
    const PluginFixture plugins;
    const PluginFixture others;
    REQUIRE(::mkdir(plugins.file("ipam").c_str(), 0700) == 0);
    others.install("echo '{}'");
    cni::DelegateCall call = plugins.call();
    call.path = ":" + plugins.path() + ":/absent:" + others.path();
    CHECK(cni::delegate_add(call, kSoon).ips.empty());
}

TEST_CASE("a plugin may ignore a large configuration, or read it while it prints a large log") {
    const PluginFixture plugins;
    cni::DelegateCall call = plugins.call();
    call.config = R"({"name": "n", "filler": ")" + std::string(2U << 20U, 'x') + "\"}";
    (void)std::signal(SIGPIPE, SIG_DFL);
    plugins.install("exec 0<&-; echo '{}'");
    CHECK_NOTHROW(cni::delegate_add(call, kSoon));
    plugins.install(
        "head -c 300000 /dev/zero | tr '\\0' 'e' > $CNI_PATH/log; cat $CNI_PATH/log $CNI_PATH/log | wc -c >&2\n"
        "cat $CNI_PATH/log > /dev/null; wc -c > $CNI_PATH/count; echo '{}'");
    CHECK_NOTHROW(cni::delegate_add(call, kSoon));
    CHECK(std::stoul(read(plugins.file("count"))) == call.config.size());
}

TEST_CASE("no descriptor stays open, and none is inherited") {
    const PluginFixture plugins;
    plugins.install("ls /proc/self/fd > $CNI_PATH/fds; echo '{}'");
    const int ours = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    const std::size_t before = open_descriptors();
    (void)cni::delegate_add(plugins.call(), kSoon);
    CHECK(open_descriptors() == before);
    const std::string handed_down = read(plugins.file("fds"));
    const std::string alone = "CNI_PATH=" + plugins.path() + ' ' + plugins.file("ipam") + " > /dev/null";
    REQUIRE(std::system(alone.c_str()) == 0);
    CHECK(handed_down == read(plugins.file("fds")));
    (void)::close(ours);
}

TEST_CASE("a caller that ignores SIGCHLD does not matter") {
    const PluginFixture plugins;
    plugins.install("exit 3");
    const auto before = std::signal(SIGCHLD, SIG_IGN);
    CHECK_THAT(plugins.add_failure(), Names("106 IPAM plugin", "ipam", "ADD", "status 3", "no error"));
    (void)std::signal(SIGCHLD, before);
}
