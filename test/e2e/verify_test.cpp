// `rdmanet verify`: pods of the software NIC prove RDMA to each other, and what keeps them from it is named.
#include "background_program.hpp"
#include "documented.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <regex>
#include <utility>
#include <vector>

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

/// Of 10.71.0.1, with RoCE v2, which comes last.
void wait_for_gid(const Pod& pod) {
    wait_until(concat("ip netns exec ", pod.name(),
                      " sh -c '[ $(cat /sys/class/infiniband/*/ports/1/gids/* | grep -c ffff:0a47:0001) = 2 ]'"));
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
    CHECK_THAT(inside, Contains("proven: RDMA works between shop/till net1 and shop/till net1"));
    // With processes of its own, as a container has them, the first one of which is in the pod.
    const auto container = [&](const std::string& arguments) {
        return pair.till.run(concat("unshare --pid --fork --mount-proc ", binary(), " verify . --json", kPatient,
                                    arguments, " 2>/tmp/verify.err | jq -c '[.verdict,.scope,.here.pod,.peer.pod]'"));
    };
    CHECK(container("") == "[\"proven\",\"device\",\"shop/till\",\"shop/till\"]\n");
    CHECK(container("/var/run/netns/till") == "[\"proven\",\"device\",\"shop/till\",\"shop/till\"]\n");
    const std::string number = shell("stat -Lc net:[%i] /run/netns/till | tr -d '\\n'");
    CHECK(container("--state-dir /tmp/none") == concat("[\"proven\",\"device\",\"", number, "\",\"", number, "\"]\n"));
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

/// Pods "shop/till" and "shop/desk" on IPoIB children of two cards.
struct IpoibPair {
    explicit IpoibPair(const std::string& parameters = "")
        : infiniband("shared", concat("nics=2 vfs=2 link_layer=ib,ib ", parameters)) {}

    void attach(const std::string& pkey_of_till, const std::string& pkey_of_desk) {
        calls = {call(till, 0, pkey_of_till), call(desk, 1, pkey_of_desk)};
        for (const PluginCall& each : calls) (void)add(each);
    }
    /// Empty if they were detached.
    [[nodiscard]] std::string detach() const {
        std::string said;
        for (const PluginCall& each : calls) said += del(each);
        return said;
    }

    InfinibandNode infiniband;
    Pod till{"till"};
    Pod desk{"desk"};
    UnchangedNode node;
    std::vector<PluginCall> calls{};

private:
    [[nodiscard]] PluginCall call(const Pod& pod, unsigned card, const std::string& pkey) const {
        return as_pod(call_for(pod, concat("'attach':'ipoib','master':'", infiniband.parent(card), "','pkey':'", pkey,
                                           "','rdma':true,", ipam("10.96.0.0/24"))),
                      pod.name());
    }
};

TEST_CASE("pods on IPoIB children prove RDMA over InfiniBand in their partition", "[verify][ipoib]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    // Limited members of the default partition, which the first P_Key is, cannot reach each other.
    IpoibPair pair("ib_limited=1");
    pair.attach("0x8002", "0x8002");
    CHECK(values("shop/till shop/desk", "[.verdict,.here.linkLayer,.peer.linkLayer,.here.device==.peer.device]") ==
          "[\"proven\",\"InfiniBand\",\"InfiniBand\",false]\n");
    CHECK(values("shop/till", "[.here.pkey,.peer.pkey]") == "[\"0x8002\",\"0x8002\"]\n");
    CHECK_THAT(verify("shop/till shop/desk"), Contains("  PKEY    MTU") && Contains("  0x8002  4096"));
    CHECK(faults("shop/till shop/desk") == "0\n");
    CHECK(pair.detach() == "");

    pair.attach("0x8001", "0x8002");
    CHECK_THAT(faults("shop/till shop/desk"),
               Names("failure partition: shop/till net1 is in partition 0x8001, and shop/desk net1 in 0x8002",
                     "the same \"pkey\"", "2"));
    CHECK(pair.detach() == "");
    pair.attach("0xffff", "0xffff");
    CHECK_THAT(faults("shop/till shop/desk"), Names("both limited members of partition 0xffff", "full member", "2"));
    CHECK(pair.detach() == "");

    // IPoIB makes the child, and waits with its carrier until the subnet manager has added the partition.
    shell(concat("ip link add link ", pair.infiniband.parent(0),
                 " name net1 netns till type ipoib pkey 0x8005; "
                 "ip -n till link set net1 up"));
    CHECK_THAT(faults("/run/netns/till"),
               Names("failure partition", "net1 is in partition 0x8005", "its port ib0p0/1 is not",
                     "0x7fff, 0x8001, 0x8002, 0x8003", "subnet manager", "\"pkey\"", "2"));
    CHECK(values("/run/netns/till", ".here.linkLayer") == "InfiniBand\n");
    shell("ip -n till link del net1");
    CHECK(pair.node.difference() == "");
}

TEST_CASE("ports that require a global routing header get one", "[verify][ipoib]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    IpoibPair pair("ib_grh=1");
    pair.attach("0x8001", "0x8001");
    CHECK(faults("shop/till shop/desk") == "0\n");
    CHECK(pair.detach() == "");
    CHECK(pair.node.difference() == "");
}

TEST_CASE("a server and a client find each other by port and token", "[verify][sriov]") {
    NEEDS_VFS();
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

TEST_CASE("what keeps RDMA from working is named before the first packet", "[verify][sriov]") {
    NEEDS_VFS();
    const VfPair pair;
    const auto between = [&](const std::string& begin, const std::string& end, const auto& ask) {
        shell(begin);
        const std::string found = ask("shop/till shop/desk");
        shell(end);
        return found;
    };
    CHECK_THAT(between("ip -n till link set net1 down", "ip -n till link set net1 up", faults),
               Names("failure interface", "net1", "is down", "`ip link set net1 up`", "2"));
    wait_until("ip -n till link show net1 | grep -q LOWER_UP");
    CHECK_THAT(between("ip -n till link set net1 down; ip -n till link set net1 name 'n;1'",
                       "ip -n till link set 'n;1' name net1; ip -n till link set net1 up", faults),
               Names("failure interface", "`ip link set 'n;1' up`"));
    wait_until("ip -n till link show net1 | grep -q LOWER_UP");
    CHECK_THAT(between(concat("ip link set ", pair.vfs.pf(), " vf 1 state disable"),
                       concat("ip link set ", pair.vfs.pf(), " vf 1 state auto"), faults),
               Names("failure interface", "net1", "no carrier", "cable"));
    wait_until("ip -n desk link show net1 | grep -q LOWER_UP");
    // A full table has no place for the address, which gets none later either.
    CHECK_THAT(
        between("ip -n till addr del 10.71.0.1/24 dev net1; "
                "for i in $(seq 1 127); do ip -n till addr add 10.74.0.$i/24 dev net1; done; "
                "ip -n till addr add 10.71.0.1/24 brd + dev net1; ip -n till addr flush dev net1 to 10.74.0.0/24",
                "ip -n till addr del 10.71.0.1/24 dev net1; ip -n till addr add 10.71.0.1/24 brd + dev net1", verify),
        Contains(read_markdown("docs/verify.md").blocks.at(1).text) && Catch::EndsWith("\n2\n"));
    wait_for_gid(pair.till);
    CHECK_THAT(between("mv /dev/infiniband /dev/away", "mv /dev/away /dev/infiniband", faults),
               Names("failure device-file", "/dev/infiniband/uverbs...", "`modprobe ib_uverbs`"));
    CHECK_THAT(between("ip -n till link add way type dummy; ip -n till link set way up; "
                       "ip -n till route add 10.71.0.2/32 dev way",
                       "ip -n till link del way", faults),
               Names("warning route", "10.71.0.2", "leave by way", "net1", "1"));
    {
        const PodProgram tenant("till", "unshare -m sh -c 'mount -t tmpfs none /dev/infiniband; exec sleep 1000'");
        tenant.wait_until_called("sleep");
        CHECK_THAT(faults("shop/till shop/desk"), Names("warning pod-device-files", "/dev/infiniband/uverbs...", "1"));
    }
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

TEST_CASE("a lost packet is blamed on the route that a warning names", "[verify][sriov]") {
    NEEDS_VFS();
    const VfPair pair;
    const std::string lose = concat("/sys/kernel/debug/simrnic/", pair.vfs.pf(), "/rdma_lose_every");
    shell(concat("echo 1 >", lose,
                 "; ip -n till link add way type dummy; ip -n till link set way up; "
                 "ip -n till route add 10.71.0.2/32 dev way"));
    CHECK_THAT(faults("shop/till shop/desk"),
               Names("warning route", "failure ping", "no packet",
                     "first mend what the warning route of shop/till net1 says: add a route", "2") &&
                   !Contains("VLAN"));
    shell(concat("ip -n till link del way; echo 0 >", lose));
    CHECK(faults("shop/till shop/desk") == "0\n");
    CHECK(pair.end() == "");
}

TEST_CASE("a pod that has lost its address is named, and what it lost", "[verify][sriov]") {
    NEEDS_VFS();
    const VfPair pair;
    shell("ip -n till addr del 10.71.0.1/24 dev net1");
    const std::string found = faults("shop/till shop/desk");
    CHECK_THAT(found, Names("warning addresses: net1 has lost 10.71.0.1, which rdmanet gave it", "delete the pod",
                            "failure peer: shop/till net1 has no GID of an IPv4 address, only of fe80:...",
                            "shop/desk net1 has one of 10.71.0.2", "delete the pod shop/till", "2"));
    // Whichever end it is.
    CHECK_THAT(faults("shop/desk shop/till"), Names("failure peer: shop/till net1 has no GID of an IPv4 address"));
    shell("ip -n till addr flush dev net1");
    CHECK_THAT(faults("shop/till"), Names("failure addresses: net1 has lost 10.71.0.1", "delete the pod", "2"));
    // The packets' MTU is not known yet.
    CHECK(values("shop/till", ".here.mtu") == "0\n");
    CHECK(pair.end() == "");
}

TEST_CASE("a node without an address says so to who would call it", "[verify][sriov]") {
    NEEDS_VFS();
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

TEST_CASE("a test ends when its other end is killed", "[verify][sriov]") {
    NEEDS_VFS();
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
    NEEDS_VFS();
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
