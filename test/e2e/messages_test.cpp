// The output of the commands and of plans, compared in full with messages.golden.
#include "containers.hpp"
#include "golden.hpp"
#include "plan_stage.hpp"
#include "read_only_state.hpp"

#include "support/patience.hpp"

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

TEST_CASE("messages.golden has the output of state, check and gc", "[golden][state][check][gc]") {
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
    const CheckedStage stage;
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
}

} // namespace rdmanet::test
