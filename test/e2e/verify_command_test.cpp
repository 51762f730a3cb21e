// `rdmanet verify` as a command: servers and clients, signals, options.
#include "background_program.hpp"
#include "verify_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"

#include <catch2/catch.hpp>

#include <regex>
#include <string>
#include <utility>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// The command in the background, with output in /tmp/NAME.out and progress in /tmp/NAME.err.
class Background {
public:
    Background(std::string name, const std::string& arguments)
        : name_(fresh(std::move(name))),
          program_(concat(binary(), " verify ", arguments, kPatient, ">/tmp/", name_, ".out 2>/tmp/", name_, ".err")) {}

    void wait_for(const std::string& progress) const {
        wait_until(concat("grep -q '", progress, "' /tmp/", name_, ".err"));
    }
    void send(const std::string& signal) const { program_.send(signal); }
    /// Waits for its end.
    [[nodiscard]] std::string status() {
        const ProcessResult result = program_.result();
        return result.timed_out ? "too late" : std::to_string(result.exit_status);
    }
    [[nodiscard]] std::string output() const { return shell(concat("cat /tmp/", name_, ".out")); }
    /// The command that a server prints, for another pod. The options come after `pod`.
    [[nodiscard]] std::string invitation(const std::string& pod) const {
        wait_until(concat("grep -q token /tmp/", name_, ".out"));
        return shell(concat("sed -n 's|^rdmanet verify NAMESPACE/POD|", pod, "|p' /tmp/", name_, ".out | tr -d '\\n'"));
    }

private:
    static std::string fresh(std::string name) {
        shell(concat("rm -f /tmp/", name, ".out /tmp/", name, ".err"));
        return name;
    }

    std::string name_;
    BackgroundProgram program_;
};

/// Packets to the PF's devices take long until the end of the scope, so that a test goes on until it is ended.
class SlowPackets {
public:
    explicit SlowPackets(const std::string& pf) : file_(concat("/sys/kernel/debug/simrnic/", pf, "/rdma_delay_ms")) {
        shell(concat("echo 200 >", file_));
    }
    SlowPackets(const SlowPackets&) = delete;
    SlowPackets& operator=(const SlowPackets&) = delete;
    ~SlowPackets() { (void)succeeds(concat("echo 0 >", file_)); }

private:
    std::string file_;
};

} // namespace

TEST_CASE("a server and a client find each other by port and token", "[verify][sriov]") {
    const VfPair pair;
    shell("ip link set lo up");
    Background server("server", "--server shop/till --listen 127.0.0.1");
    const std::string arguments = server.invitation("shop/desk");
    CHECK_THAT(arguments, Contains("shop/desk --peer 127.0.0.1:"));

    const std::string wrong = arguments.substr(0, arguments.size() - 1) + (arguments.back() == '0' ? "1" : "0");
    CHECK_THAT(verify(wrong), Catch::EndsWith("3\n"));
    CHECK_THAT(shell("cat /tmp/verify.err"), Names("the token is not the server's"));
    server.wait_for("refused a client");

    const std::string unknown = std::regex_replace(arguments, std::regex("127.0.0.1"), "node-1.invalid");
    CHECK_THAT(verify(unknown), Catch::EndsWith("3\n"));
    CHECK_THAT(shell("cat /tmp/verify.err"), Names("node-1.invalid", "DNS"));

    shell("echo '127.0.0.1 node-1.invalid' >>/etc/hosts");
    const std::string found = values(unknown, "[.verdict,.role,.here.pod,.peer.pod]");
    shell("sed -i /node-1.invalid/d /etc/hosts");
    CHECK(found == "[\"proven\",\"client\",\"shop/desk\",\"shop/till\"]\n");
    CHECK(server.status() == "0");
    CHECK_THAT(server.output(), Names("proven", "shop/till net1", "shop/desk net1", "bandwidth"));
    CHECK(pair.end() == "");
}

TEST_CASE("a node without an address says so to who would call it", "[verify][sriov]") {
    const VfPair pair;
    const auto command = [&](const std::string& options) {
        Background server("server", concat("--server shop/till ", options));
        server.wait_for("run this on the other node");
        const std::string printed = server.invitation("shop/desk") + shell("cat /tmp/server.err");
        server.send("TERM");
        CHECK(server.status() == "143");
        return printed;
    };
    shell("ip link set lo up");
    CHECK_THAT(command(""), Names("--peer 127.0.0.1:...", "no address", "replace 127.0.0.1", "`--listen`"));
    CHECK_THAT(command("--listen localhost"), Names("--peer 127.0.0.1:...") && !Contains("no address"));
    shell("ip link add way type dummy; ip addr add 192.0.2.7/24 dev way; ip link set way up");
    CHECK_THAT(command(""), Names("--peer 192.0.2.7:...") && !Contains("no address"));
    CHECK_THAT(command("--listen 0.0.0.0"), Names("--peer 192.0.2.7:..."));
    shell("ip link del way");
    CHECK_THAT(verify("--server shop/till --listen 192.0.2.8"), Catch::EndsWith("3\n"));
    CHECK_THAT(shell("cat /tmp/verify.err"), Names("listen on 192.0.2.8:0...", "`ip address`"));
    CHECK(pair.end() == "");
}

TEST_CASE("the latency is that of one way", "[verify][sriov]") {
    const VfPair pair;
    const SlowPackets slow(pair.vfs.pf());
    CHECK(comes_true([] { // a busy machine may take longer
        const double microseconds = std::stod(values("shop/till shop/desk", ".latency.typical"));
        return microseconds >= 200'000 && microseconds < 390'000;
    }));
    CHECK(pair.end() == "");
}

TEST_CASE("a test ends when its other end is killed", "[verify][sriov]") {
    const VfPair pair;
    const SlowPackets slow(pair.vfs.pf());
    shell("ip link set lo up");
    Background server("server", "--server shop/till --listen 127.0.0.1");
    Background client("client", server.invitation("shop/desk"));
    client.wait_for("^ping");
    server.send("KILL");
    CHECK(client.status() == "2");
    CHECK_THAT(client.output(), Names("failure ping", "has ended"));
    CHECK(server.status() == "137");
    CHECK(pair.end() == "");
}

TEST_CASE("signals end a test at once, and it leaves nothing", "[verify][sriov]") {
    const VfPair pair;
    const std::pair<const char*, const char*> ends[] = {{"INT", "130"}, {"TERM", "143"}, {"KILL", "137"}};
    for (const auto& [signal, status] : ends) {
        INFO(signal);
        const SlowPackets slow(pair.vfs.pf());
        Background both("pair", "shop/till shop/desk");
        both.wait_for("^ping");
        both.send(signal);
        CHECK(both.status() == status);
        wait_until("! pgrep -x rdmanet >/dev/null");
        wait_until("! { ip netns exec till rdma resource show qp; ip netns exec desk rdma resource show qp; } | "
                   "grep -q 'comm rdmanet'");
    }
    CHECK(faults("shop/till shop/desk") == "0\n");
    CHECK(pair.end() == "");
}

TEST_CASE("verify itself fails with exit status 3", "[verify]") {
    const auto failure = [](const std::string& arguments) {
        return shell(concat(binary(), " verify ", arguments, " 2>&1; echo $?"));
    };
    CHECK_THAT(failure("nobody/nowhere"), Names("nobody/nowhere", "3"));
    CHECK_THAT(failure(""), Names("0 pods", "3"));
    CHECK_THAT(failure("a/b --peer 127.0.0.1:1"), Names("--token", "3"));
    CHECK_THAT(failure("a/b --server --peer 127.0.0.1:1"), Names("--server", "--peer", "3"));
    CHECK_THAT(failure("a/b c/d --server"), Names("2 pods", "3"));
    // Options of another form of the command are refused before the pod is looked for.
    CHECK_THAT(failure("a/b --listen 192.0.2.7 --port 5"), Names("--listen without --server", "3"));
    CHECK_THAT(failure("a/b --port 5"), Names("--port without --server", "3"));
    CHECK_THAT(failure("a/b c/d --wait 9"), Names("--wait without --server", "3"));
    CHECK_THAT(failure("a/b --token abc"), Names("--token without --peer", "`--peer HOST:PORT`", "3"));
    CHECK_THAT(failure("a/b c/d --token abc"), Names("--token without --peer", "3"));
    CHECK_THAT(failure("a/b --peer ''"), Names("--peer", "expected a text", "3"));
    for (const char* peer : {"worker:", "10.0.0.1", "nowhere"})
        CHECK_THAT(failure(concat("a/b --token x --peer ", peer)),
                   Names(concat("--peer \"", peer, "\": expected HOST:PORT"), "3") && !Contains("a/b"));
    CHECK_THAT(failure("a/b --server --listen 'no de'"), Names("--listen \"no de\"", "address of this node", "3"));
    CHECK_THAT(failure("a/b --server --listen localhost"), Names("a/b", "3") && !Contains("--listen"));
    CHECK_THAT(failure("a/b --seconds 0"), Names("--seconds", "3"));
    CHECK_THAT(failure("a/b --interface net1 --interface net2"), Names("2 times --interface", "1 pod", "3"));
    CHECK_THAT(failure("--no-such-option a/b"), Names("--no-such-option", "3"));
    const Pod pod("pod");
    CHECK_THAT(failure("/run/netns/pod --peer 127.0.0.1:1 --token x"), Names("no interface", "2"));
}

} // namespace rdmanet::test
