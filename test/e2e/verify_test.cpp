// `rdmanet verify`: pods of the software NIC prove RDMA to each other, and what keeps them from it is named.
#include "documented.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

// The software NIC is far slower than its ports say, and the machine may be busy: any bandwidth will do.
constexpr const char* kPatient = " --expect 0 --seconds 600 ";

/// Standard output and exit status: the last line is the status.
std::string verify(const std::string& arguments) {
    return shell(concat(binary(), " verify ", arguments, kPatient, "2>/tmp/verify.err; echo $?"));
}

/// Values that jq expressions find in the report of a run.
std::string values(const std::string& arguments, const std::string& expressions) {
    return shell(
        concat(binary(), " verify --json ", arguments, kPatient, "2>/tmp/verify.err | jq -cr '", expressions, '\''));
}

/// Every wrong check or cause: "id: what: cure".
std::string faults(const std::string& arguments) {
    return values(arguments, "(.checks[]|select(.result!=\"ok\")|\"\\(.result) \\(.check): \\(.what): \\(.cure)\"),"
                             "(.cause//empty|\"failure \\(.stage): \\(.what): \\(.cure)\"),.exitStatus");
}

PluginCall as_pod(PluginCall call, const std::string& name) {
    call.container = name;
    call.args = concat("K8S_POD_NAMESPACE=shop;K8S_POD_NAME=", name, ";K8S_POD_UID=uid-", name);
    return call;
}

/// Two pods, "shop/till" and "shop/desk", with a VF each.
struct VfPair {
    VfNode vfs;
    Pod till{"till"};
    Pod desk{"desk"};
    UnchangedNode node;
    PluginCall first = as_pod(vf_call(vfs, till, 0, ipam("10.71.0.0/24")), "till");
    PluginCall second = as_pod(vf_call(vfs, desk, 1, ipam("10.71.0.0/24")), "desk");

    VfPair() {
        (void)add(first);
        (void)add(second);
    }
    /// Empty if nothing is left of the pods' interfaces and of the tests between them.
    [[nodiscard]] std::string end() const {
        const std::string said = del(first) + del(second);
        return said + node.difference();
    }
};

/// A command in the background: output in /tmp/NAME.out, progress in /tmp/NAME.err, and when it has ended, its exit
/// status in /tmp/NAME.status.
void start(const std::string& name, const std::string& arguments) {
    // A shell without job control lets its background jobs ignore SIGINT.
    shell(concat("rm -f /tmp/", name, ".*; (env --default-signal=INT ", binary(), " verify ", arguments, kPatient,
                 ">/tmp/", name, ".out 2>/tmp/", name, ".err & echo $! >/tmp/", name,
                 ".pid; wait $!; echo -n $? >/tmp/", name, ".new; mv /tmp/", name, ".new /tmp/", name,
                 ".status) >/dev/null 2>&1 &"));
    wait_until(concat("test -s /tmp/", name, ".pid"));
}

void wait_for(const std::string& name, const std::string& progress) {
    wait_until(concat("grep -q '", progress, "' /tmp/", name, ".err"));
}

std::string status_of(const std::string& name) {
    wait_until(concat("test -e /tmp/", name, ".status"));
    return shell(concat("cat /tmp/", name, ".status"));
}

void kill_one(const std::string& name, const std::string& signal) {
    shell(concat("kill -", signal, " $(cat /tmp/", name, ".pid)"));
}

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

/// Of 10.71.0.1, with RoCE v2, which comes last.
void wait_for_gid(const Pod& pod) {
    wait_until(concat("ip netns exec ", pod.name(),
                      " sh -c '[ $(cat /sys/class/infiniband/*/ports/1/gids/* | grep -c ffff:0a47:0001) = 2 ]'"));
}

/// The command that the server prints, for another pod.
std::string invitation(const std::string& pod) {
    wait_until("grep -q token /tmp/server.out");
    return shell(concat("sed -n 's|^rdmanet verify NAMESPACE/POD|", pod, "|p' /tmp/server.out | tr -d '\\n'"));
}

} // namespace

TEST_CASE("two pods with VFs prove RDMA to each other", "[verify][sriov]") {
    NEEDS_VFS();
    const VfPair pair;

    const std::string text = verify("shop/till shop/desk");
    const std::vector<std::string> documented = lines_of(read_markdown("docs/verify.md").blocks.at(0).text);
    for (std::size_t line = 0; line < 3; ++line) CHECK_THAT(text, Contains(documented.at(line)));
    CHECK_THAT(text, Contains("\nping") && Contains("\nbandwidth") && Contains("\nlatency"));
    CHECK_THAT(text, Names("proven", "shop/till net1", "shop/desk net1", "10.71.0.1", "10.71.0.2", "100 Gb/s"));
    CHECK_THAT(text, Contains("does not prove the network between nodes"));
    CHECK_THAT(text, Catch::EndsWith("\n0\n"));
    CHECK_THAT(text, !Contains("\033"));

    CHECK(values("shop/till shop/desk",
                 "[.verdict,.scope,.exitStatus,.ping.messages,.here.pod,.peer.pod,.here.address,.peer.interface,"
                 ".bandwidth.rate>0,.latency.typical>0,.latency.slow>=.latency.typical,(.cause|type)]") ==
          "[\"proven\",\"node\",0,20,\"shop/till\",\"shop/desk\",\"10.71.0.1\",\"net1\",true,true,true,\"null\"]\n");
    CHECK(faults("shop/till shop/desk") == "0\n");

    // Bandwidth below the expectation works, and is said.
    CHECK_THAT(shell(concat(binary(), " verify shop/till shop/desk --seconds 600 --expect 100 2>/dev/null; echo $?")),
               Contains("limited: ") && Contains("expected 100 %") && Catch::EndsWith("\n1\n"));
    CHECK(pair.end() == "");
}

TEST_CASE("a device proves itself to itself, and says that this is less", "[verify][sriov]") {
    NEEDS_VFS();
    const VfPair pair;
    CHECK(values("shop/till", "[.verdict,.scope,.here==.peer]") == "[\"proven\",\"device\",true]\n");
    CHECK(values("shop/till --interface net1 shop/desk", ".scope") == "node\n");
    CHECK_THAT(verify("shop/till"), Contains("no way to another pod"));
    CHECK_THAT(verify("/run/netns/till"), Contains("shop/till"));
    // As in a container: the pod is where the process is.
    const std::string inside = pair.till.run(concat(binary(), " verify .", kPatient, "2>&1"));
    CHECK_THAT(inside, Contains("proven: "));
    CHECK(pair.end() == "");
}

TEST_CASE("children of one parent prove RDMA in shared mode", "[verify][rdma]") {
    NEEDS(kernel_has("macvlan") && kernel_has("ipvlan") && !rdma_parent().empty(), "children and an RDMA parent");
    for (const std::string kind : {"macvlan", "ipvlan"}) {
        INFO(kind);
        const Pod till("till");
        const Pod desk("desk");
        const UnchangedNode node;
        const std::string members =
            concat("'master':'", rdma_parent(), "','attach':'", kind, "','rdma':true,",
                   ipam(kind == "macvlan" ? "10.72.0.0/24" : "10.73.0.0/24", "'ipRanges':[{'range':'fd72::/64'}]"));
        const PluginCall first = as_pod(call_for(till, members), "till");
        const PluginCall second = as_pod(call_for(desk, members), "desk");
        (void)add(first);
        (void)add(second);
        CHECK(values("shop/till shop/desk", "[.verdict,.scope,.here.device,.peer.device]") ==
              concat("[\"proven\",\"node\",\"", rdma_device_of(rdma_parent()), "\",\"", rdma_device_of(rdma_parent()),
                     "\"]\n"));
        CHECK(del(first) + del(second) == "");
        CHECK(node.difference() == "");
    }
}

TEST_CASE("pods on IPoIB children of two cards prove RDMA over InfiniBand", "[verify][ipoib]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband;
    const Pod till("till");
    const Pod desk("desk");
    const UnchangedNode node;
    const auto call = [&](const Pod& pod, unsigned card) {
        return as_pod(call_for(pod, concat("'attach':'ipoib','master':'", infiniband.parent(card),
                                           "','pkey':'0x8001','rdma':true,", ipam("10.96.0.0/24"))),
                      pod.name());
    };
    (void)add(call(till, 0));
    (void)add(call(desk, 1));
    CHECK(values("shop/till shop/desk", "[.verdict,.here.linkLayer,.peer.linkLayer,.here.device==.peer.device]") ==
          "[\"proven\",\"InfiniBand\",\"InfiniBand\",false]\n");
    CHECK(faults("shop/till") == "0\n");
    CHECK(del(call(till, 0)) + del(call(desk, 1)) == "");
    CHECK(node.difference() == "");
}

TEST_CASE("a server and a client find each other by port and token", "[verify][sriov]") {
    NEEDS_VFS();
    const VfPair pair;
    shell("ip link set lo up");
    start("server", "--server shop/till --listen 127.0.0.1");
    const std::string arguments = invitation("shop/desk");
    CHECK_THAT(arguments, Contains("shop/desk --peer 127.0.0.1:"));

    const std::string wrong = arguments.substr(0, arguments.size() - 1) + (arguments.back() == '0' ? "1" : "0");
    CHECK_THAT(verify(wrong), Catch::EndsWith("3\n"));
    CHECK_THAT(shell("cat /tmp/verify.err"), Names("the token is not the server's"));
    wait_for("server", "refused a client");

    CHECK(values(arguments, "[.verdict,.role,.here.pod,.peer.pod]") ==
          "[\"proven\",\"client\",\"shop/desk\",\"shop/till\"]\n");
    CHECK(status_of("server") == "0");
    CHECK_THAT(shell("cat /tmp/server.out"), Names("proven", "shop/till net1", "shop/desk net1", "bandwidth"));
    CHECK(pair.end() == "");
}

TEST_CASE("what keeps RDMA from working is named before the first packet", "[verify][sriov]") {
    NEEDS_VFS();
    const VfPair pair;
    const auto between = [&](const std::string& begin, const std::string& end) {
        shell(begin);
        const std::string found = faults("shop/till shop/desk");
        shell(end);
        return found;
    };
    CHECK_THAT(between("ip -n till link set net1 down", "ip -n till link set net1 up"),
               Names("failure interface", "net1", "is down", "`ip link set net1 up`", "2"));
    wait_until("ip -n till link show net1 | grep -q LOWER_UP");
    CHECK_THAT(between(concat("ip link set ", pair.vfs.pf(), " vf 1 state disable"),
                       concat("ip link set ", pair.vfs.pf(), " vf 1 state auto")),
               Names("failure interface", "net1", "no carrier", "cable"));
    wait_until("ip -n desk link show net1 | grep -q LOWER_UP");
    // A full table has no place for the address, which gets none later either.
    CHECK_THAT(
        between("ip -n till addr del 10.71.0.1/24 dev net1; "
                "for i in $(seq 1 127); do ip -n till addr add 10.74.0.$i/24 dev net1; done; "
                "ip -n till addr add 10.71.0.1/24 brd + dev net1; ip -n till addr flush dev net1 to 10.74.0.0/24",
                "ip -n till addr del 10.71.0.1/24 dev net1; ip -n till addr add 10.71.0.1/24 brd + dev net1"),
        Names("failure gid", "10.71.0.1", "GID", "2"));
    wait_for_gid(pair.till);
    CHECK_THAT(between("mv /dev/infiniband /dev/away", "mv /dev/away /dev/infiniband"),
               Names("failure device-file", "/dev/infiniband/uverbs...", "`modprobe ib_uverbs`"));
    CHECK_THAT(between("ip -n till link add way type dummy; ip -n till link set way up; "
                       "ip -n till route add 10.71.0.2/32 dev way",
                       "ip -n till link del way"),
               Names("warning route", "10.71.0.2", "leave by way", "net1", "1"));
    CHECK_THAT(between("cp -n /bin/sleep /tmp/tenant5; ip netns exec till unshare -m sh -c 'mount -t tmpfs none "
                       "/dev/infiniband; exec /tmp/tenant5 1000' >/dev/null 2>&1 & until pgrep -x tenant5 >/dev/null; "
                       "do :; done",
                       "pkill -x tenant5; while pgrep -x tenant5 >/dev/null; do :; done"),
               Names("warning pod-device-files", "/dev/infiniband/uverbs...", "1"));
    CHECK(faults("shop/till shop/desk") == "0\n");
    CHECK(pair.end() == "");
}

TEST_CASE("what keeps packets from the other pod is named", "[verify][sriov]") {
    NEEDS_VFS();
    const VfPair pair;
    const std::string lose = concat("/sys/kernel/debug/simrnic/", pair.vfs.pf(), "/rdma_lose_every");
    shell(concat("echo 1 >", lose));
    CHECK_THAT(faults("shop/till shop/desk"), Names("failure ping", "no packet", "VLAN", "2"));
    shell(concat("echo 0 >", lose));
    // Both have it: the neighbours of each are wrong.
    shell("ip -n desk addr flush dev net1 scope global; ip -n desk addr add 10.71.0.1/24 dev net1");
    wait_for_gid(pair.desk);
    CHECK_THAT(faults("shop/till shop/desk"), Names("the same address 10.71.0.1", "shop/till net1", "shop/desk net1"));
    shell("ip -n desk addr flush dev net1 scope global; ip -n desk addr add 10.71.0.2/24 brd + dev net1");
    CHECK(pair.end() == "");
}

TEST_CASE("a test ends when its other end is killed", "[verify][sriov]") {
    NEEDS_VFS();
    const VfPair pair;
    const SlowPackets slow(pair.vfs.pf());
    shell("ip link set lo up");
    start("server", "--server shop/till --listen 127.0.0.1");
    start("client", invitation("shop/desk"));
    wait_for("client", "^ping");
    kill_one("server", "KILL");
    CHECK(status_of("client") == "2");
    CHECK_THAT(shell("cat /tmp/client.out"), Names("failure ping", "has ended"));
    CHECK(status_of("server") == "137");
    CHECK(pair.end() == "");
}

TEST_CASE("signals end a test at once, and it leaves nothing", "[verify][sriov]") {
    NEEDS_VFS();
    const VfPair pair;
    for (const char* signal : {"INT", "TERM", "KILL"}) {
        INFO(signal);
        const SlowPackets slow(pair.vfs.pf());
        start("pair", "shop/till shop/desk");
        wait_for("pair", "^ping");
        kill_one("pair", signal);
        CHECK(status_of("pair") == (std::string(signal) == "INT"    ? "130"
                                    : signal == std::string("TERM") ? "143"
                                                                    : "137"));
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
    CHECK_THAT(failure("a/b --seconds 0"), Names("--seconds", "3"));
    CHECK_THAT(failure("a/b --interface net1 --interface net2"), Names("2 times --interface", "1 pod", "3"));
    CHECK_THAT(failure("--no-such-option a/b"), Names("--no-such-option", "3"));
    const Pod pod("pod");
    CHECK_THAT(failure("/run/netns/pod --peer nowhere --token x"), Names("no interface", "2"));
}

} // namespace rdmanet::test
