// Every wait has a deadline. Plugins that hang here would hang longer than a test run lasts.
#include "support/concat.hpp"
#include "support/names.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/wait.hpp>

#include "plugin_fixture.hpp"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

using namespace rdmanet;
using Catch::Matchers::Contains;
using cni::PluginFixture;
using rdmanet::test::concat;
using rdmanet::test::Names;
using std::chrono::milliseconds;

namespace {

/// A killed process whose parent is dead stays a zombie until init reaps it.
bool is_running(pid_t pid) {
    const auto status = base::read_file_if_exists("/proc/" + std::to_string(pid) + "/stat", 4096);
    return status && status->find(") Z ") == std::string::npos;
}

template <class Condition>
bool comes_true(Condition condition) {
    return base::wait_for(base::Deadline::in(std::chrono::minutes(2)), condition); // a busy machine takes long
}

bool is_gone_soon(pid_t pid) {
    return comes_true([&] { return !is_running(pid); });
}

/// 0 if the plugin has not written it.
pid_t find_pid(const std::string& path) {
    const auto text = base::read_file_if_exists(path, 100);
    return text && text->ends_with('\n') ? static_cast<pid_t>(std::stol(*text)) : 0;
}

pid_t pid_in(const std::string& path) {
    (void)comes_true([&] { return find_pid(path) != 0; });
    return find_pid(path);
}

} // namespace

TEST_CASE("a plugin that hangs is killed at the deadline, with its children") {
    const PluginFixture plugins;
    plugins.install("echo waiting for dhcpd >&2; sleep 3000 & echo $! > $CNI_PATH/pid; wait");
    int seconds = 1;
    std::string failure;
    do { // a busy machine may kill it before it hangs
        seconds *= 2;
        failure = plugins.add_failure(std::chrono::seconds(seconds));
    } while (find_pid(plugins.file("pid")) == 0 && seconds < 100);
    CHECK_THAT(failure, Names("timeout", "\"ipam\"", "ADD", concat(seconds, " s"), plugins.file("ipam"),
                              "\"waiting for dhcpd\""));
    const pid_t grandchild = find_pid(plugins.file("pid"));
    REQUIRE(grandchild > 0);
    CHECK(is_gone_soon(grandchild));
}

TEST_CASE("a plugin that prints endlessly, or never reads its input, is killed at the deadline") {
    const PluginFixture plugins;
    cni::DelegateCall call = plugins.call();
    call.config = std::string(1U << 20U, ' ') + call.config;
    for (const char* script : {"exec yes", "exec sleep 3000"}) {
        plugins.install(script);
        CHECK_THAT(PluginFixture::failure_of(call, milliseconds(300)), Contains("timeout"));
    }
}

TEST_CASE("a grandchild that keeps the output open, or keeps printing, is not waited for") {
    const PluginFixture plugins;
    plugins.install("sleep 3000 & echo $! > $CNI_PATH/pid; echo '{}'");
    CHECK(plugins.add_failure() == "succeeded");
    (void)::kill(pid_in(plugins.file("pid")), SIGKILL);
    plugins.remove("pid");
    plugins.install("yes & echo $! > $CNI_PATH/pid; exit 1");
    CHECK_THAT(plugins.add_failure(), Names("IPAM plugin", "not JSON"));
    (void)::kill(pid_in(plugins.file("pid")), SIGKILL);
}

TEST_CASE("a plugin ends with a caller that is killed") {
    const PluginFixture plugins;
    plugins.install("echo $$ > $CNI_PATH/pid; exec sleep 3000");
    const pid_t caller = ::fork();
    REQUIRE(caller >= 0);
    if (caller == 0) {
        (void)plugins.add_failure();
        ::_exit(0);
    }
    const pid_t plugin = pid_in(plugins.file("pid"));
    REQUIRE(plugin > 0);
    CHECK(is_running(plugin));
    (void)::kill(caller, SIGKILL);
    (void)::waitpid(caller, nullptr, 0);
    CHECK(is_gone_soon(plugin));
}
