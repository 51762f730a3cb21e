// Many machines that take and give back addresses of one range at the same moment, in a pool and in blocks.
#include "attachment_stage.hpp"
#include "cluster_machine.hpp"
#include "cluster_stage.hpp"
#include "crowd.hpp"

#include "support/concat.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"

#include <rdmanet/base/ip_address.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace rdmanet::test {
namespace {

constexpr int kMachines = 64;

/// Requests that the server has counted for a kind of objects, or of several ("a|b").
int requests_for(const std::string& kinds) {
    return std::atoi(shell(concat(cluster(), "/get /metrics | grep -E '^apiserver_request_total.*resource=\"(", kinds,
                                  ")\"' | grep -v 'verb=\"WATCH\"' | awk '{ sum += $NF } END { print sum + 0 }'"))
                         .c_str());
}

/// As machine.sh of the crowd writes it.
std::string machine_id_of(int number) {
    char text[33];
    std::snprintf(text, sizeof text, "%032x", static_cast<unsigned>(number));
    return text;
}

/// Node objects n1, n2 and so on, which the case takes away again.
class Nodes {
public:
    Nodes() {
        const std::string file = "/run/crowd-nodes";
        std::ofstream options(file); // of curl, which asks for all of them on one connection
        for (int number = 1; number <= kMachines; ++number)
            options << "url = \"" << shell(cluster() + "/get --url") << "/api/v1/nodes\"\n"
                    << "data = " << node_object(concat("n", number), machine_id_of(number)) << "\n"
                    << "header = \"Authorization: Bearer admin-token\"\nheader = \"Content-Type: application/json\"\n"
                    << "cacert = " << cluster() << "/pki/ca.crt\nfail-with-body\n"
                    << (number < kMachines ? "next\n" : "");
        options.close();
        shell(concat("curl --silent --show-error --config ", file, "; rm ", file));
    }
    Nodes(const Nodes&) = delete;
    Nodes& operator=(const Nodes&) = delete;
    ~Nodes() { shell(concat(cluster(), "/delete '/api/v1/nodes/n[1-", kMachines, "]'")); }
};

PluginCall cluster_call(const Pod& pod, const std::string& space, const std::string& range) {
    return call_for(pod, concat("'master':'par0','ipam':{'type':'rdmanet','network_name':'", space, "','range':'",
                                range, "',", in_cluster(), "}"));
}

/// Lines of `held` whose address is in none of `blocks` that its machine has.
std::string machines_outside_their_blocks(const std::string& held, const std::string& blocks) {
    std::multimap<std::string, base::IpPrefix> of_machine;
    std::istringstream block_lines(blocks);
    for (std::string block, machine; block_lines >> block >> machine;)
        of_machine.emplace(machine, base::IpPrefix::parse(block).value());
    std::string outside;
    std::istringstream held_lines(held);
    for (std::string address, machine, ifname; held_lines >> address >> machine >> ifname;) {
        const base::IpAddress its = base::IpPrefix::parse(address).value().address();
        const auto [first, last] = of_machine.equal_range(machine);
        if (std::none_of(first, last, [&](const auto& one) { return one.second.contains(its); }))
            outside += concat(machine, ' ', address, '\n');
    }
    return outside;
}

/// Gives back what a lost answer may have left, too.
std::string records_after_gc(Crowd& crowd) {
    const auto is_empty = [&] {
        if (Crowd::records().empty()) return true;
        crowd.collect();
        return Crowd::records().empty();
    };
    return comes_true(is_empty) ? "" : Crowd::records();
}

/// All take an address, then every second one gives it back while the others take another one, then all give back.
void take_turns(Crowd& crowd) {
    crowd.run_all("ADD net1");
    crowd.run([](int machine) { return machine % 2 == 0 ? "DEL net1" : "ADD net2"; });
}

} // namespace

TEST_CASE("many machines take and give back addresses of one pool of whereabouts at once", "[cluster]") {
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const CheckedStage stage;
    Crowd crowd(kMachines, cluster_call(stage.pod, space, "10.53.0.0/22"));
    const std::string kinds = "ippools|overlappingrangeipreservations";
    const int before = requests_for(kinds);
    take_turns(crowd);
    const int requests = requests_for(kinds) - before;
    CHECK(crowd.duplicates() == "");
    CHECK(crowd.failures() == ""); // some may have failed with code 11
    REQUIRE(crowd.count() > 0);
    INFO(concat(requests, " requests, ", crowd.count(), " addresses"));
    CHECK(requests >= 3 * kMachines / 2);
    CHECK(requests <= 65 * 2 * kMachines); // two for each of 30 tries of an ADD
    // What failed, or could not be given back, is owed, and paid by the next call.
    const auto pool = [&] {
        return sorted(
            shell(concat(cluster(), "/get ippools/", space,
                         "-10.53.0.0-22 | jq --raw-output '.spec.allocations // {} | to_entries[] | \"10.53.\\((.key | "
                         "tonumber) / 256 | floor).\\((.key | tonumber) % 256)/22 \\(.value.id[1:]) "
                         "\\(.value.ifname)\"'")));
    };
    (void)comes_true([&] {
        const bool is_settled = pool() == crowd.held();
        if (!is_settled) crowd.collect();
        return is_settled;
    });
    CHECK(pool() == crowd.held());
    CHECK(Crowd::recorded() == crowd.held());
    crowd.run_all("DEL net1");
    crowd.run_all("DEL net2");
    CHECK(records_after_gc(crowd) == "");
    CHECK(crowd.failures() == "");
    CHECK(pool() == "");
    CHECK(shell(concat(cluster(), "/get overlappingrangeipreservations | jq --raw-output '.items[].metadata.name' | ",
                       "{ grep ", space, "- || true; }")) == "");
}

TEST_CASE("many machines take and give back addresses of their blocks at once", "[cluster][blocks]") {
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const Declared range(space, "10.53.0.0/19");
    const Nodes nodes;
    const CheckedStage stage;
    Crowd crowd(kMachines, cluster_call(stage.pod, space, "10.53.0.0/19"));
    const std::string kinds = "addressblocks|addressranges";
    const int before = requests_for(kinds);
    crowd.run_all("ADD net1");
    const int first = requests_for(kinds) - before;
    CHECK(crowd.count() == kMachines);
    crowd.run([](int machine) { return machine % 2 == 0 ? "DEL net1" : "ADD net2"; });
    CHECK(requests_for(kinds) - before == first); // their blocks have room
    INFO(concat(first, " requests"));
    CHECK(first <= 12 * kMachines); // others may have been faster
    CHECK(crowd.duplicates() == "");
    CHECK(crowd.failures() == "");
    CHECK(crowd.refusals().empty());
    CHECK(crowd.count() == kMachines);
    CHECK(Crowd::recorded() == crowd.held());
    CHECK(Crowd::leased_in_blocks() == crowd.held());
    // Each address is in a block of its machine.
    const std::string blocks =
        shell(concat(cluster(), "/get /apis/rdmanet.cni/v1alpha1/addressblocks | jq --raw-output ",
                     "'.items[].spec | select(.networkName == \"", space, "\") | .block + \" \" + .node.name[1:]'"));
    CHECK(machines_outside_their_blocks(crowd.held(), blocks) == "");
    const int still = requests_for(kinds);
    crowd.run_all("DEL net1");
    crowd.run_all("DEL net2");
    CHECK(requests_for(kinds) == still);
    CHECK(crowd.failures() == "");
    CHECK(Crowd::records() == "");
    CHECK(Crowd::leased_in_blocks() == "");
}

} // namespace rdmanet::test
