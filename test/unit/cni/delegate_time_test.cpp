// Nothing waits for ever, and nothing outlives its time.
#include <rdmanet/base/file.hpp>

#include "plugin_fixture.hpp"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

using namespace rdmanet;
using Catch::Matchers::Contains;
using cni::PluginFixture;
using std::chrono::milliseconds;

namespace {

class Stopwatch {
public:
    [[nodiscard]] milliseconds elapsed() const {
        return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began_);
    }

private:
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// A killed process whose parent died too stays a zombie until init looks.
bool is_running(pid_t pid) {
    const auto status = base::read_file_if_exists("/proc/" + std::to_string(pid) + "/stat", 4096);
    return status && status->find(") Z ") == std::string::npos;
}

bool is_gone_soon(pid_t pid) {
    for (int attempt = 0; attempt < 300 && is_running(pid); ++attempt) std::this_thread::sleep_for(milliseconds(10));
    return !is_running(pid);
}

pid_t pid_in(const std::string& path) {
    for (int attempt = 0; attempt < 300; ++attempt) {
        const auto text = base::read_file_if_exists(path, 100);
        if (text && text->ends_with('\n')) return static_cast<pid_t>(std::stol(*text));
        std::this_thread::sleep_for(milliseconds(10));
    }
    return 0;
}

} // namespace

TEST_CASE("a plugin that hangs is killed at the deadline, with what it started") {
    const PluginFixture plugins;
    plugins.install("echo waiting for dhcpd >&2; sleep 60 & echo $! > $CNI_PATH/pid; wait");
    const Stopwatch watch;
    CHECK(plugins.add_failure(milliseconds(500)) ==
          "timeout IPAM plugin \"ipam\" ADD: gave up after 0.5 s, " + plugins.file("ipam") +
              " was killed, having said \"waiting for dhcpd\": does it wait for a daemon?");
    CHECK(watch.elapsed() < milliseconds(5000));
    const pid_t grandchild = pid_in(plugins.file("pid"));
    REQUIRE(grandchild > 0);
    CHECK(is_gone_soon(grandchild));
}

TEST_CASE("a plugin that never stops talking is killed at the deadline") {
    const PluginFixture plugins;
    plugins.install("exec yes");
    const Stopwatch watch;
    CHECK_THAT(plugins.add_failure(milliseconds(300)), Contains("timeout"));
    CHECK(watch.elapsed() < milliseconds(5000));
}

TEST_CASE("a plugin that never reads its input is killed at the deadline") {
    const PluginFixture plugins;
    plugins.install("exec sleep 60");
    cni::DelegateCall call = plugins.call();
    call.config = std::string(1U << 20U, ' ') + call.config;
    const Stopwatch watch;
    CHECK_THAT(PluginFixture::failure_of(call, milliseconds(300)), Contains("timeout"));
    CHECK(watch.elapsed() < milliseconds(5000));
}

TEST_CASE("a grandchild that keeps the output open isn't waited for") {
    const PluginFixture plugins;
    plugins.install("sleep 60 & echo $! > $CNI_PATH/pid; echo '{}'");
    const Stopwatch watch;
    CHECK(plugins.add_failure(milliseconds(20'000)) == "succeeded");
    CHECK(watch.elapsed() < milliseconds(10'000));
    (void)::kill(pid_in(plugins.file("pid")), SIGKILL);
}

TEST_CASE("a grandchild that keeps talking isn't listened to") {
    const PluginFixture plugins;
    plugins.install("yes & echo $! > $CNI_PATH/pid; exit 1");
    const Stopwatch watch;
    CHECK_THAT(plugins.add_failure(milliseconds(20'000)), Contains("its error is no JSON"));
    CHECK(watch.elapsed() < milliseconds(10'000));
    (void)::kill(pid_in(plugins.file("pid")), SIGKILL);
}

TEST_CASE("a plugin doesn't outlive a caller that is killed") {
    const PluginFixture plugins;
    plugins.install("echo $$ > $CNI_PATH/pid; exec sleep 60");
    const pid_t caller = ::fork();
    REQUIRE(caller >= 0);
    if (caller == 0) {
        (void)plugins.add_failure(milliseconds(60'000));
        ::_exit(0);
    }
    const pid_t plugin = pid_in(plugins.file("pid"));
    REQUIRE(plugin > 0);
    CHECK(is_running(plugin));
    (void)::kill(caller, SIGKILL);
    (void)::waitpid(caller, nullptr, 0);
    CHECK(is_gone_soon(plugin));
}
