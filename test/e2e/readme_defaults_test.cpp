// The defaults in the documents' tables of keys. Without the key ADD does what it does with the documented value, and
// another value changes that.
#include "attachment_stage.hpp"
#include "markdown.hpp"
#include "support/concat.hpp"
#include "support/other_nic.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <map>
#include <set>

namespace rdmanet::test {

namespace {

/// '%' in `members` stands for the key and its value, or for nothing.
struct Scenario {
    std::string key;   // as documented
    std::string other; // another value, which must change something
    std::string members;
    std::string earlier{}; // members of another pod's attachment
    bool earlier_is_released = false;
    std::size_t which = 0; // index of the value in the documented cell
};

const std::string kStaticTwice =
    "'ipam':{'type':'static','addresses':[{'address':'10.51.5.1/24'},{'address':'10.51.5.2/24'}]}";
const std::string kDefaultRoute =
    "'master':'par0',%'ipam':{'type':'rdmanet','range':'10.51.0.0/24','gateway':'10.51.0.1',"
    "'routes':[{'dst':'0.0.0.0/0'}]}";

std::string range_of(const std::string& range) {
    return concat("'master':'par0','ipam':{%'type':'rdmanet','range':'", range, "'}");
}

const std::vector<Scenario> kScenarios{
    {"mode", "'private'", "%'attach':'macvlan','master':'par0'"},
    {"mode", "'l3'", "%'attach':'ipvlan','master':'par0'", "", false, 1},
    {"flag", "'private'", "%'attach':'ipvlan','master':'par0'"},
    {"mtu", "1400", "%'master':'par0'"},
    {"linkInContainer", "true", "%'master':'par0'"},
    {"defaultRoute", "'always'", kDefaultRoute},
    {"duplicateAddressDetection", "'probe'", "'master':'par0',%'ipam':{'type':'rdmanet','range':'fd51::/64'}"},
    {"logLevel", "'info'", kDefaultRoute},
    {"rdma.mode", "'exclusive'", "'master':'par0','rdma':{%'waitForGids':true}"},
    {"exclude_gateway", "false",
     "'master':'par0','ipam':{%'type':'rdmanet','range':'10.51.0.0/24','gateway':'10.51.0.1'}"},
    {"enable_l3", "true", range_of("10.51.0.0/24")},
    {"enable_overlapping_ranges", "false", range_of("10.51.0.0/16"), range_of("10.51.0.0/24")},
    {"cooldown", "0", range_of("10.51.0.0/24"), range_of("10.51.0.0/24"), true},
};

/// For a NIC with room for one of two addresses.
const std::vector<Scenario> kGidScenarios{
    {"rdma.waitForGids", "false", "'master':'rnic0p0','rdma':{%'gidTimeoutMs':50}," + kStaticTwice},
    {"rdma.onMissingGid", "'warn'", "'master':'rnic0p0','rdma':{%'gidTimeoutMs':50}," + kStaticTwice},
    {"rdma.gidTimeoutMs", "50", "'master':'rnic0p0','rdma':{%'waitForGids':true}," + kStaticTwice},
};

/// For a NIC without a cable.
const std::vector<Scenario> kPortScenarios{
    {"rdma.onInactivePort", "'refuse'", "'master':'rnic0p0','rdma':{%'gidTimeoutMs':50}"},
};

bool is_literal(const std::string& cell) {
    return cell == "true" || cell == "false" ||
           (!cell.empty() && cell.find_first_not_of("0123456789") == std::string::npos);
}

/// The values in a cell as JSON: the code in it, or the whole cell if it is a literal.
std::vector<std::string> values_in(const std::string& cell) {
    if (is_literal(cell)) return {cell};
    std::vector<std::string> values = code_spans(cell);
    for (std::string& value : values)
        if (!is_literal(value)) value = concat('\'', value, '\'');
    return values;
}

/// Every key whose default is a value. A row with several keys gives the default of the last one.
std::map<std::string, std::vector<std::string>> documented_defaults() {
    std::map<std::string, std::vector<std::string>> defaults;
    for (const Markdown& document : documents())
        for (const TableRow& row : document.rows)
            if (row.header.at(0).starts_with("key"))
                if (auto values = values_in(row.cells.at(1)); !values.empty())
                    defaults[code_spans(row.cells.at(0)).back()] = std::move(values);
    return defaults;
}

std::string filled(const std::string& members, const std::string& replacement) {
    const std::size_t at = members.find('%');
    return concat(members.substr(0, at), replacement, members.substr(at + 1));
}

std::string without_times(const std::string& log) {
    std::string text;
    std::size_t line = 0;
    for (std::size_t end; (end = log.find('\n', line)) != std::string::npos; line = end + 1)
        text += log.substr(log.find(' ', line), end - log.find(' ', line));
    return text;
}

/// The pod of all scenarios, which has a default route, and another pod.
struct Pods {
    Pods() {
        // Link-local addresses would have GIDs too.
        shell("ip netns exec pod bash -c 'sysctl -q net.ipv6.conf.default.addr_gen_mode=1 && ip route add default dev "
              "lo metric 10'");
    }
    Pod pod{"pod"};
    Pod neighbour{"pod2"};
};

/// Kind, mode, flag, MTU and duplicate address detection of the pod's interface, and the pod's default routes.
std::string look(const Pods& pods) {
    const ProcessResult result = run_process({"ip", "-netns", pods.pod.name(), "-details", "-batch", "-"},
                                             {.input = "link show net1\nroute show default\n"});
    std::string seen;
    for (const std::string& telling :
         matches(result.out, "(mtu [0-9]+|(mac|ip)vlan .* addrgenmode|default (dev|via) .*)"))
        seen += concat(telling, '\n');
    return seen + pods.pod.run("bash -c 'cat /proc/sys/net/ipv6/conf/net1/optimistic_dad 2>&1 || true'");
}

/// What an ADD does, as far as the keys can change it. The node has no leases before.
std::string behaviour(const Pods& pods, const Scenario& scenario, const std::string& value) {
    const std::string key = scenario.key.substr(scenario.key.rfind('.') + 1);
    const std::string member = value.empty() ? "" : concat('\'', key, "':", value, ',');
    const std::string above = "/tmp/rdmanet-defaults";
    const auto call_with = [&](const Pod& pod, const std::string& members, const std::string& network) {
        PluginCall call = call_for(pod, filled(members, member), "1.0.0", network);
        call.more_environment = {concat("RDMANET_STATE_DIR=", above, "/state")};
        return call;
    };
    const PluginCall call = call_with(pods.pod, scenario.members, "net");
    const PluginCall earlier = of(call_with(pods.neighbour, scenario.earlier, "other"), "c2");
    if (!scenario.earlier.empty()) (void)add(earlier);
    if (scenario.earlier_is_released) CHECK(del(earlier) == "");
    const ProcessResult result = call.run();
    std::string seen = without_times(result.err);
    seen += result.exit_status != 0 ? error_of(result) : concat(addresses(result.out), '\n', look(pods));
    if (result.exit_status == 0) CHECK(del(call) == "");
    if (!scenario.earlier.empty() && !scenario.earlier_is_released) CHECK(del(earlier) == "");
    std::filesystem::remove_all(above);
    return seen;
}

void expect_documented(const Pods& pods, const Scenario& scenario) {
    INFO(scenario.key);
    const std::string documented = documented_defaults().at(scenario.key).at(scenario.which);
    const std::string absent = behaviour(pods, scenario, "");
    CHECK(absent == behaviour(pods, scenario, documented));
    CHECK(absent != behaviour(pods, scenario, scenario.other));
}

} // namespace

TEST_CASE("every documented default has a scenario", "[examples][readme]") {
    std::set<std::string> tried;
    for (const auto* scenarios : {&kScenarios, &kGidScenarios, &kPortScenarios})
        for (const Scenario& scenario : *scenarios) tried.insert(scenario.key);
    std::set<std::string> documented;
    for (const auto& [key, values] : documented_defaults()) documented.insert(key);
    CHECK(documented == tried);
}

TEST_CASE("the documented defaults are the binary's", "[examples][readme]") {
    NEEDS(kernel_has("ipvlan"), "ipvlan");
    const VethParent parent("par0");
    const Pods pods;
    const CheckedNode node;
    for (const Scenario& scenario : kScenarios) expect_documented(pods, scenario);
}

TEST_CASE("the documented defaults for RDMA ports are the binary's", "[examples][readme]") {
    NEEDS(OtherNic::possible() && succeeds("test -x /usr/lib/cni/static"), "the software NIC and the plugin static");
    const OtherNic nic("nics=1 gid_table_len=4"); // the port itself uses two entries
    CHECK(rdma_parent() == "rnic0p0");
    const Pods pods;
    const UnchangedNode node;
    for (const Scenario& scenario : kGidScenarios) expect_documented(pods, scenario);
    CHECK(node.difference() == "");
    shell("echo 0 >/sys/kernel/debug/simrnic/rnic0p0/cable");
    CHECK(comes_true([] { return succeeds("ip link show rnic0p0 | grep -q 'NO-CARRIER.*state DOWN'"); }));
    const UnchangedNode without_cable;
    for (const Scenario& scenario : kPortScenarios) expect_documented(pods, scenario);
    CHECK(without_cable.difference() == "");
}

} // namespace rdmanet::test
