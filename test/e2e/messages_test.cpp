// What CHECK, DEL, STATUS and the commands say of attachments, compared in full with messages.golden. Tests of each
// command only require what its messages must name.
#include "containers.hpp"
#include "fake_plugin.hpp"
#include "golden.hpp"
#include "plan_stage.hpp"
#include "read_only_state.hpp"

#include "support/lease_lines.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <regex>
#include <sstream>
#include <utility>

namespace rdmanet::test {
namespace {

const std::string kJournal = concat(kState, "/attachments/");

/// A network with addresses of 10.90.0.0/24 and two routes.
const std::string kTwoRoutes =
    concat("'master':'par0','mac':'02:00:00:00:90:01',",
           ipam("10.90.0.0/24", "'ipRanges':[{'range':'fd90::/64'}],'routes':[{'dst':'10.91.0.0/16','gw':"
                                "'10.90.0.254'},{'dst':'10.92.0.0/16','gw':'10.90.0.254'}]"));

/// Replaces numbers and times that differ from run to run.
std::string settled(std::string text) {
    static const std::pair<std::regex, const char*> varying[] = {
        {std::regex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z"), "TIME"},
        {std::regex("process [0-9]+ [(]"), "process NUMBER ("},
    };
    for (const auto& [expression, name] : varying) text = std::regex_replace(text, expression, name);
    return text;
}

PluginCall without_pod(PluginCall call) {
    call.container = call.netns = call.ifname = "";
    return call;
}

/// Keeps DEL's error and log. Neither may have words that go-cni takes for success: if DEL dies, the log stands for
/// the error.
void keep_del(Golden& golden, const PluginCall& call) {
    const ProcessResult result = call.with_command("DEL").run();
    CHECK_NOTHROW(refuse_words_of_success({.out = result.err}));
    if (result.exit_status != 0) golden.add(error_of(result));
    golden.add(complaints(result.err));
}

/// Keeps a command and its output. Lines about other devices are left out, because they depend on the machine.
void keep_command(Golden& golden, const std::string& arguments, const std::string& program = binary()) {
    const ProcessResult result = run_process({"/bin/sh", "-c", concat(program, ' ', arguments, " 2>&1")});
    golden.add(concat("$ rdmanet ", arguments));
    std::istringstream lines(settled(result.out));
    for (std::string line; std::getline(lines, line);)
        if (!line.starts_with("left alone: ")) golden.add(line);
}

/// A pod's namespace without a name, kept by a process.
class HeldPod {
public:
    HeldPod() {
        shell("ip netns add held");
        pid_ = shell("ip netns exec held sleep infinity >/dev/null 2>&1 & echo -n $!");
        (void)comes_true([&] {
            return succeeds(
                concat("[ /run/netns/held -ef /proc/", pid_, "/ns/net ] && grep -q sleep /proc/", pid_, "/comm"));
        });
    }
    HeldPod(const HeldPod&) = delete;
    HeldPod& operator=(const HeldPod&) = delete;
    ~HeldPod() { end(); }

    static void lose_name() { shell("ip netns delete held"); }

    void end() {
        if (pid_.empty()) return;
        (void)::kill(std::stoi(pid_), SIGKILL);
        (void)comes_true([&] { return !succeeds(concat("test -e /proc/", pid_, "/ns/net")); });
        pid_.clear();
    }

private:
    std::string pid_;
};

/// Attachments of a living pod, a dead pod and a pod whose namespace a process holds. Also unreadable records.
struct Scene {
    VethParent parent{"par0"};
    UnchangedNode node;
    Pod living{"pod"};
    HeldPod held;

    Scene() {
        Pod dying("dying");
        PluginCall shop = call_to(living.path(), "alive", "01");
        shop.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till;K8S_POD_UID=uid-1";
        (void)add(shop);
        (void)add(call_to(dying.path(), "dead", "02"));
        (void)add(call_to("/run/netns/held", "held", "03"));
        dying.destroy();
        HeldPod::lose_name();
        shell(concat("cd ", kJournal, " && echo '{}' >lost:net1:net.json && cp lost:net1:net.json stray.json"));
    }

    static PluginCall call_to(const std::string& netns, const std::string& container, const std::string& mac) {
        PluginCall call = call_at(netns, container, "10.93.0.0/24");
        return with(call, concat("'mac':'02:00:00:00:93:", mac, '\''));
    }
};

} // namespace

TEST_CASE("messages.golden has CHECK's differences", "[golden][check]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, kTwoRoutes);
    Golden golden("CHECK");
    const auto keep_after = [&](const std::string& damage) {
        const std::string result = add(call);
        shell(damage);
        golden.add(settled(check(call, result)));
        CHECK(del(call) == "");
    };
    for (const char* damage :
         {"link set net1 down", "link delete net1", "link set net1 address 02:00:00:00:00:77",
          "link set net1 type macvlan mode private", "address del 10.90.0.1/24 dev net1", "route del 10.91.0.0/16"})
        keep_after(concat("ip -n pod ", damage));
    {
        const VethParent other("par1");
        keep_after("ip -n pod link delete net1; ip link add link par1 name net1 netns pod type macvlan mode bridge");
    }
    keep_after(concat("cd ", kJournal, " && jq '.phase=\"prepared\"' c1:net1:net.json >../x && cp ../x c1*; rm ../x"));
    const std::string result = add(call);
    forget_leases(concat(kState, "/leases.sqlite"));
    golden.add(check(call, result));
    CHECK(del(call) == "");
    CHECK(golden.difference() == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("messages.golden has what DEL could not undo, never in words of success", "[golden][del]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const FakePlugin plugin;
    Golden golden("DEL");
    const PluginCall delegated = fake_call(stage.pod);
    plugin.install(kGoodAdd);
    (void)add(delegated);
    for (const char* failure :
         {R"(echo '{"code":11,"msg":"lease not found: no such file or directory"}'; exit 1)", "kill -9 $$", "exit 3"}) {
        plugin.install(failure);
        keep_del(golden, delegated);
    }
    keep_del(golden, with(delegated, "'mark':'corrected'"));
    plugin.uninstall();
    keep_del(golden, delegated);
    plugin.install("exit 0");
    keep_del(golden, delegated);
    plugin.install(R"(echo '{"code":7,"msg":"lease not found"}'; exit 1)");
    (void)refusal(delegated);
    keep_del(golden, delegated);

    const PluginCall leased = call_for(stage.pod, kTwoRoutes);
    (void)add(leased);
    {
        const ReadOnlyState state;
        keep_del(golden, leased);
    }
    CHECK(del(leased) == "");
    (void)add(leased);
    shell(concat("echo '{}' >", kJournal, "c1:net1:net.json"));
    {
        const ReadOnlyState state;
        keep_del(golden, call_for(stage.pod, "'master':'par0'"));
    }
    keep_del(golden, leased);
    CHECK(golden.difference() == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("messages.golden has ADD's refusals of a full range and of a state directory", "[golden][add]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    Golden golden("ADD");
    const PluginCall call = call_for(stage.pod, concat("'master':'par0',", ipam("10.90.1.1/32", "'enable_l3':true")));
    PluginCall next = of(call, "c2");
    next.ifname = "net2";
    const auto keep = [&] { golden.add(refusal(next)); };
    const auto keep_after = [&](const std::string& damage, const std::string& repair) {
        shell(damage);
        keep();
        shell(repair);
    };
    (void)add(call);
    keep();
    CHECK(del(call) == "");
    {
        const ReadOnlyState state;
        keep();
    }
    keep_after(concat("chown 1000 ", kState), concat("chown 0 ", kState));
    keep_after(concat("chmod 1777 ", kState), concat("chmod 700 ", kState));
    keep_after(concat("mv ", kState, " /run/saved && touch ", kState),
               concat("rm ", kState, " && mv /run/saved ", kState));
    CHECK(golden.difference() == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("messages.golden has STATUS's refusals", "[golden][status]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    Golden golden("STATUS");
    const auto keep = [&](const std::string& members) {
        golden.add(outcome(without_pod(call_for(stage.pod, members)), "STATUS"));
    };
    const auto keep_after = [&](const std::string& damage, const std::string& repair) {
        shell(damage);
        keep(kTwoRoutes);
        shell(repair);
    };
    const std::string one = concat("'master':'par0',", ipam("10.90.1.1/32", "'enable_l3':true"));
    const PluginCall call = call_for(stage.pod, one);
    (void)add(call);
    for (const std::string& members : {std::string("'master':'par9'"), std::string("'master':'par0','mtu':9000"), one})
        keep(members);
    keep_after("ip link set par0 down", "ip link set par0 up");
    {
        const ReadOnlyState state;
        keep(kTwoRoutes);
    }
    keep_after(concat("chown 1000 ", kState), concat("chown 0 ", kState));
    keep_after(concat("chmod 1777 ", kState), concat("chmod 700 ", kState));
    CHECK(del(call) == "");
    keep_after(concat("mv ", kState, " /run/saved && touch ", kState),
               concat("rm ", kState, " && mv /run/saved ", kState));
    CHECK(golden.difference() == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("messages.golden has the output of state, check and gc", "[golden][state][check][gc]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    Scene scene;
    Golden golden("commands on a node");
    for (const char* arguments : {"state --state-dir /nope", "state", "check"}) keep_command(golden, arguments);
    shell("ip link set par0 down; ip -n pod link set net1 down");
    keep_command(golden, "check");
    shell("ip link set par0 up");
    golden.add("in a container, where a pod's processes are hidden:");
    {
        const Wrapper inside("elsewhere", kContainer);
        for (const char* arguments : {"state", "gc --dry-run", "gc --forget held net1 --dry-run"})
            keep_command(golden, arguments, inside.path());
    }
    golden.add("on the node:");
    for (const char* arguments :
         {"gc --dry-run", "gc --forget alive net1", "gc --forget held net1", "gc --forget absent net1",
          "gc --forget absent.json", "gc --forget dead net1 --dry-run", "gc --forget lost:net1:net.json",
          "gc --forget stray.json", "gc"})
        keep_command(golden, arguments);
    shell(concat("cd ", kJournal, " && jq '.removalUnfinished=true' held* >../x && cp ../x held*; rm ../x"));
    for (const char* arguments : {"state", "check", "gc"}) keep_command(golden, arguments);
    scene.held.end();
    keep_command(golden, "gc --forget held net1");
    scene.living.destroy();
    (void)succeeds(concat(binary(), " gc"));
    for (const char* arguments : {"gc", "state", "check"}) keep_command(golden, arguments);
    CHECK(golden.difference() == "");
    CHECK(scene.node.difference() == "");
}

TEST_CASE("messages.golden has plans of shared networks", "[golden][plan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    Golden golden("rdmanet plan");
    const auto keep = [&](const std::string& members, const std::string& args = "") {
        PluginCall call = call_for(stage.pod, members);
        call.args = args;
        call.path = "/nope";
        const ProcessResult result = plan(call);
        golden.add(concat("$ rdmanet plan: ", members));
        golden.add_lines(result.err);
        golden.add_lines(result.out);
    };
    keep(kTwoRoutes);
    keep("'master':'par0','attach':'ipvlan','mtu':1400,'duplicateAddressDetection':'probe',"
         "'ipam':{'type':'rdmanet','range':'10.90.0.0/24','addresses':[{'address':'10.94.0.1/24'}]}",
         "IP=10.90.0.7");
    keep("'master':'par0','ipam':{'type':'fake'}");
    keep("'master':'par0','mastr':'par0','bcqueuelen':1000");
    CHECK(golden.difference() == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
