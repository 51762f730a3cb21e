// Runs the commands of the examples that call `rdmanet gc` and `rdmanet check` on every node.
#include "attachment_stage.hpp"
#include "example_pod.hpp"
#include "markdown.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <sstream>

namespace rdmanet::test {

using Catch::Contains;

namespace {

const std::string kInstalledBinary = "/opt/cni/bin/rdmanet";
const std::string kUpkeepMembers = concat("'master':'par0',", ipam("10.41.0.0/24"));

/// The commands of a unit, in systemd's order.
std::string commands_of(const std::string& unit) {
    std::string commands;
    for (const std::string key : {"ExecStart=", "ExecStopPost="}) {
        std::istringstream lines(unit);
        for (std::string line; std::getline(lines, line);)
            if (line.starts_with(key)) commands += concat(line.substr(key.size()), '\n');
    }
    return commands;
}

/// Runs `script` after a pod died and another pod's interface went down.
void expect_upkeep(const std::string& script) {
    const VethParent parent("par0");
    const Pod pod("pod");
    const UnchangedNode node;
    const PluginCall call = call_for(pod, kUpkeepMembers);
    (void)add(call);
    {
        Pod dying("dying");
        (void)add(of(call_for(dying, kUpkeepMembers), "dead"));
        dying.destroy();
    }
    pod.run("ip link set net1 down");
    CHECK_THAT(shell(concat('{', script, "\n} 2>&1 || true")),
               Names("removed", "net", "dead", "differs", "c1", "net1") && !Contains("not checked:"));
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
}

} // namespace

TEST_CASE("the example timer's service reclaims from dead pods and reports differences", "[examples][gc]") {
    const std::string commands = commands_of(source_text("conf-examples/rdmanet-gc.service"));
    CHECK(commands == concat(kInstalledBinary, " gc\n", kInstalledBinary, " check\n"));
    CHECK_THAT(source_text("conf-examples/rdmanet-gc.timer"), Contains("\nOnUnitActiveSec="));
    expect_upkeep(concat(' ', replaced(commands, kInstalledBinary, binary())));
}

TEST_CASE("the example DaemonSet reclaims from dead pods and reports differences", "[examples][gc]") {
    const Manifests all = example_manifests();
    REQUIRE(all.node_scripts.size() == 1);
    const NodeScript& upkeep = all.node_scripts.front();
    CHECK(upkeep.sees_processes);
    CHECK(upkeep.privileged);
    // Runs once, on the test's node instead of the machine's.
    const std::string here = replaced(upkeep.script, concat("nsenter -t 1 -m -n ", kInstalledBinary), binary());
    CHECK(here != upkeep.script);
    const std::string once = replaced(here, "sleep 600 & wait", "break");
    CHECK(once != here);
    expect_upkeep(concat(' ', once));
}

} // namespace rdmanet::test
