// Which store a network uses, and how it is reached.
#include "config_case.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <fstream>

using namespace rdmanet;
using namespace rdmanet::ipam;
using namespace rdmanet::ipam::test;
using Catch::Matchers::Contains;
using rdmanet::test::concat;
using rdmanet::test::Names;

namespace {

const std::string kReach = R"("kubernetes": {"kubeconfig": "/etc/k"}, )";

/// A file of the node for all networks, with this content.
class NodeFile {
public:
    explicit NodeFile(std::string_view content) { std::ofstream(path()) << content; }
    [[nodiscard]] std::string path() const { return directory_.path() + "/rdmanet.conf"; }
    /// A network that names the file.
    [[nodiscard]] std::string network(const std::string& members = R"("range": "10.0.0.0/24")") const {
        return R"({"configuration_path": ")" + path() + "\", " + members + "}";
    }

private:
    TemporaryDirectory directory_;
};

void check_refused(const std::string& network, const std::string& where, const std::string& what) {
    INFO(network);
    const std::string error = refusal_of(network);
    CHECK_THAT(error, Contains(where) && Contains(what));
}

} // namespace

TEST_CASE("leases are kept on the node, or in the cluster as whereabouts does it") {
    CHECK(config(R"({"range": "10.0.0.0/24"})").store.kind == StoreKind::node);
    CHECK(config(R"({"range": "10.0.0.0/24", "store": "node"})").store.kind == StoreKind::node);
    const Config shared =
        config(R"({"store": "whereabouts", "range": "10.0.0.0/8", "ipRanges": [{"range": "fd00::/64"}],
        "kubernetes": {"kubeconfig": "/etc/k", "k8s_api_root": ""}})");
    CHECK(shared.store.kind == StoreKind::whereabouts);
    CHECK(shared.store.kubeconfig == "/etc/k");
    CHECK(shared.store.why == "chosen by \"store\" of the network");
    CHECK(shared.store.open_to.empty());
    CHECK(shared.warnings.empty());
    CHECK_THAT(only_warning("{" + kReach + R"("store": "whereabouts", "range": "10.0.0.0/24", "cooldown": 5})"),
               Names("cooldown", "only the node"));
    CHECK_THAT(only_warning(R"({"range": "10.0.0.0/24", "store": "whereabouts", "kubernetes": {"kubeconfig": "/k",
        "kubeConfig2": 1}})"),
               Names("kubernetes.kubeConfig2"));
}

TEST_CASE("a kubeconfig of whereabouts is used with a warning: its token ends with whereabouts") {
    CHECK_THAT(only_warning(R"({"range": "10.0.0.0/24", "kubernetes": {"kubeconfig":
        "/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig"}})"),
               Names("/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig", "token", "ServiceAccount"));
}

TEST_CASE("a network with a cluster uses the cluster's store, which fits the smallest of its ranges") {
    const Config shared = config("{" + kReach + R"("range": "10.0.0.0/20", "ipRanges": [{"range": "10.16.0.0/16"}]})");
    CHECK(shared.store.kind == StoreKind::whereabouts);
    CHECK_THAT(shared.store.why, Names("kubernetes", "10.0.0.0/20", "4094"));
    CHECK(shared.store.open_to.size() == 2);
    const Config large = config("{" + kReach + R"("range": "10.0.0.0/19"})");
    CHECK(large.store.kind == StoreKind::blocks);
    CHECK_THAT(large.store.why, Names("kubernetes", "range 10.0.0.0/19 has more than 4094 usable addresses"));
    const auto kind_of = [](const std::string& rest) {
        return config("{" + kReach + R"("range": "10.0.0.0/19", )" + rest + "}").store.kind;
    };
    CHECK(kind_of(R"("range_start": "10.0.0.1", "range_end": "10.0.15.254")") == StoreKind::whereabouts);
    CHECK(kind_of(R"("range_start": "10.0.0.1", "range_end": "10.0.15.255")") == StoreKind::blocks);
    CHECK(kind_of(R"("exclude": ["10.0.16.0/20"])") == StoreKind::blocks); // 4095 are left
    CHECK(kind_of(R"("exclude": ["10.0.16.0/20", "10.0.0.1/32"])") == StoreKind::whereabouts);
}

TEST_CASE("blocks have a size, a part for requests and the name of the node") {
    const Config blocks = config("{" + kReach + R"("store": "blocks", "range": "10.0.0.0/16", "blockSize": 64,
        "requestable": "10.0.255.0/24", "nodeName": "a", "ipRanges": [{"range": "fd00::/64"}], "addresses":
        [{"address": "10.9.0.1/24"}], "cooldown": 5})");
    CHECK(blocks.store.kind == StoreKind::blocks);
    CHECK(blocks.store.block_size == 64);
    CHECK(blocks.store.requestable == std::vector{prefix("10.0.255.0/24")});
    CHECK(blocks.store.node_name == "a");
    CHECK(blocks.warnings.empty());
    const std::string start = "{" + kReach + R"("store": "blocks", "range": "10.0.0.0/16", )";
    CHECK(config(start + R"("requestable": ["10.0.1.0/24", "fd00::/120"], "ipRanges": [{"range": "fd00::/64"}]})")
              .store.requestable.size() == 2);
    check_refused(start + R"("requestable": ["10.0.1.0/24", "10.0.9.0/32"]})", "", "10.0.1.0/24 and 10.0.9.0/32");
    check_refused(start + R"("blockSize": 12})", "blockSize", "power of two");
    check_refused(start + R"("blockSize": 0})", "blockSize", "0");
    check_refused(start + R"("requestable": "10.1.0.0/24"})", "requestable", "parts of the network's ranges");
    check_refused(start + R"("requestable": "10.0.0.1/24"})", "requestable", "10.0.0.1/24");
    check_refused(start + R"("requestable": [1]})", "requestable[0]", "1");
    check_refused(start + R"("network_name": "A"})", "network_name", "\"blocks\"");
    for (const char* name : {"../x", "a?b", "a#", "A", "a/b", "%2e"})
        check_refused(start + R"("nodeName": ")" + name + "\"}", "nodeName", name);
    check_refused("{" + kReach + R"("store": "blocks", "range": "fd00::/7"})", "", "/8 or longer");
    check_refused(R"({"range": "10.0.0.0/16", "store": "blocks"})", "store", "kubeconfig");
    const NodeFile file(R"({"nodeName": "b", "blockSize": 8, "kubernetes": {"kubeconfig": "/etc/k"}})");
    const Config by_file = config(file.network(R"("range": "10.0.0.0/8")"));
    CHECK(by_file.store.node_name == "b");
    CHECK(by_file.store.block_size == 8);
    CHECK_THAT(only_warning(R"({"range": "10.0.0.0/16", "store": "node", "blockSize": 16})"),
               Names("blockSize", "ignored"));
    for (const auto& [name, key] :
         {std::pair{"blockSize", R"("blockSize": 16)"}, std::pair{"requestable", R"("requestable": "10.0.0.0/28")"}})
        for (const std::string& store : {kReach + R"("store": "whereabouts", )", std::string()})
            CHECK_THAT(only_warning("{" + store + R"("range": "10.0.0.0/24", )" + key + "}"),
                       Names(name, "ignored", "which has no blocks"));
    CHECK(config(file.network(R"("range": "10.0.0.0/24", "store": "whereabouts")")).warnings.empty());
}

TEST_CASE("a network that had its leases in etcd is refused, and never gets addresses from another store unasked") {
    const std::string why = "no store \"etcd\"";
    const std::string etcd = R"("range": "10.0.0.0/24", "etcd": {"endpoints": ["http://a:2379"]})";
    check_refused(R"({"range": "10.0.0.0/24", "store": "etcd"})", "store", why);
    for (const std::string& store : {std::string(), kReach + R"("store": "blocks", )", kReach,
                                     std::string(R"("store": "node", )"), std::string(R"("store": "etcd", )")})
        check_refused("{" + store + etcd + "}", "etcd", why);
    const NodeFile file(R"({"kubernetes": {"kubeconfig": "/k"}, "etcd": {"endpoints": ["http://a:2379"]}})");
    check_refused(file.network(), file.path() + ": etcd", why);
    const NodeFile named(R"({"store": "etcd", "etcd": {"endpoints": ["http://a:2379"]}})");
    check_refused(named.network(), named.path() + ": store", why);
    // Who names a store does not depend on that.
    CHECK(config(named.network(R"("range": "10.0.0.0/24", "store": "node")")).store.kind == StoreKind::node);
    CHECK(config(file.network(R"("range": "10.0.0.0/24", "store": "blocks")")).store.kind == StoreKind::blocks);
}

TEST_CASE("a network that names no store is checked for the one that it turns out to use") {
    const Config open = config("{" + kReach + R"("range": "10.0.0.0/24", "blockSize": 32, "addresses":
        [{"address": "10.9.0.1/24"}], "cooldown": 5})");
    CHECK(open.store.kind == StoreKind::whereabouts);
    CHECK(open.warnings.empty());
    const Config in_blocks = settle_store(open, StoreKind::blocks, "recorded");
    CHECK(in_blocks.store.kind == StoreKind::blocks);
    CHECK(in_blocks.store.block_size == 32);
    CHECK(in_blocks.store.why == "recorded");
    CHECK(in_blocks.store.open_to.empty());
    CHECK(settle_store(open, StoreKind::whereabouts, "recorded").store.kind == StoreKind::whereabouts);
    const Config in_pools = settle_store(config("{" + kReach + R"("range": "10.0.0.0/19", "cooldown": 5})"),
                                         StoreKind::whereabouts, "recorded");
    REQUIRE(in_pools.warnings.size() == 1);
    CHECK_THAT(in_pools.warnings[0], Names("cooldown", "only the node"));
    // Neither store has a place for it.
    check_refused("{" + kReach + R"("range": "10.0.0.0/24", "network_name": "A"})", "network_name", "\"whereabouts\"");
}

TEST_CASE("a static address that a range may give to another pod is warned about where no store records it") {
    const std::string network = "{" + kReach + R"("store": "whereabouts", "range": "10.0.0.0/24", )";
    CHECK_THAT(only_warning(network + R"("addresses": [{"address": "10.9.0.9/24"}, {"address": "10.0.0.9/24"}]})"),
               Names("addresses: 10.0.0.9", "10.0.0.0/24", "\"exclude\""));
    CHECK(config(network + R"("exclude": ["10.0.0.9"], "addresses": [{"address": "10.0.0.9/24"}]})").warnings.empty());
    CHECK(config("{" + kReach +
                 R"("store": "blocks", "range": "10.0.0.0/24", "addresses": [{"address": "10.0.0.9/24"}]})")
              .warnings.empty());
}

TEST_CASE("what a network does not say of its store is in a file of the node") {
    const NodeFile file(R"({"datastore": "kubernetes", "kubernetes": {"kubeconfig": "/etc/k"}, "log_level": "debug"})");
    const Config shared = config(file.network());
    CHECK(shared.store.kind == StoreKind::whereabouts);
    CHECK(shared.store.kubeconfig == "/etc/k");
    CHECK_THAT(shared.store.why, Names(file.path() + ": kubernetes"));
    CHECK(config(file.network(R"("range": "10.0.0.0/24", "store": "node")")).store.kind == StoreKind::node);
    CHECK(config(file.network(R"("range": "10.0.0.0/24", "kubernetes": {"kubeconfig": "/own"})")).store.kubeconfig ==
          "/own");
    const NodeFile on_node(R"({"store": "node"})");
    CHECK(config(on_node.network("\"range\": \"10.0.0.0/24\", " + kReach + "\"$comment\": 1")).store.kind ==
          StoreKind::node);
}

TEST_CASE("a file of the node that can't be used is named, and its content is not shown") {
    const NodeFile secret("root:s3cret:19000:0:99999:7:::");
    CHECK_THAT(refusal_of(secret.network()), Names(secret.path(), "not JSON") && !Contains("s3cret"));
    const NodeFile wrong(R"({"kubernetes": {"kubeconfig": "s3cret"}})");
    CHECK_THAT(refusal_of(wrong.network()), Names(wrong.path(), "kubernetes.kubeconfig") && !Contains("s3cret"));
    const NodeFile store(R"({"store": "blocky"})");
    CHECK_THAT(refusal_of(store.network()), Names(store.path() + ": store", "\"whereabouts\""));
    check_refused(R"({"range": "10.0.0.0/24", "configuration_path": "/nowhere/x"})", "configuration_path",
                  "/nowhere/x");
    check_refused(R"({"range": "10.0.0.0/24", "configuration_path": "/etc"})", "configuration_path", "/etc");
    check_refused(R"({"range": "10.0.0.0/24", "configuration_path": "x"})", "configuration_path", "absolute path");
}

TEST_CASE("how long a cluster's store is waited for is said by the network first, then by the node's file") {
    const auto limits = [](const std::string& text) {
        const StoreLimits found = config(text).store.limits;
        return concat(found.connect.count(), ' ', found.request.count(), ' ', found.add.count());
    };
    CHECK(limits(R"({"range": "10.0.0.0/24", "kubernetes": {"kubeconfig": "/k"}})") == "2000 5000 30000");
    const NodeFile file(R"({"kubernetes": {"kubeconfig": "/k", "connectTimeoutMs": 1, "addTimeoutMs": 60000}})");
    CHECK_THAT(refusal_of(file.network()), Names(file.path(), "kubernetes.connectTimeoutMs"));
    const NodeFile better(R"({"kubernetes": {"kubeconfig": "/k", "connectTimeoutMs": 100, "addTimeoutMs": 60000}})");
    CHECK(limits(better.network()) == "100 5000 60000");
    CHECK(limits(better.network(R"("range": "10.0.0.0/24", "kubernetes": {"requestTimeoutMs": 700, "addTimeoutMs":
        1000})")) == "100 700 1000");
}

TEST_CASE("keys of a cluster never mean the node's own store") {
    check_refused(R"({"range": "10.0.0.0/24", "kubernetes": {}})", "kubernetes", "\"kubeconfig\"");
    check_refused(R"({"range": "10.0.0.0/24", "kubernetes": "x"})", "kubernetes", "\"x\"");
    check_refused(R"({"range": "10.0.0.0/24", "kubernetes": {"kubeconfig": ""}})", "kubernetes", "\"kubeconfig\"");
    check_refused(R"({"range": "10.0.0.0/24", "etcd_host": "10.0.0.9:2379"})", "etcd_host", "\"store\"");
    check_refused(R"({"range": "10.0.0.0/24", "node_slice_size": "/26"})", "node_slice_size", "slices");
    const std::string fixed = R"({"addresses": [{"address": "10.0.0.5/24"}], )";
    check_refused(fixed + R"("kubernetes": {}})", "kubernetes", "\"kubeconfig\"");
    const StoreChoice shared_by_nobody = config(fixed + R"("kubernetes": {"kubeconfig": "/k"}})").store;
    CHECK(shared_by_nobody.kind == StoreKind::node);
    CHECK_THAT(shared_by_nobody.why, Names("no range"));
}

TEST_CASE("slices of whereabouts' own file are refused where its pools would be used") {
    const std::string reach = R"("kubernetes": {"kubeconfig": "/k"}, "node_slice_size": "/26")";
    const NodeFile file("{" + reach + "}");
    CHECK_THAT(refusal_of(file.network()), Names(file.path() + ": node_slice_size", "slices", "remove the key"));
    CHECK_THAT(refusal_of(file.network(R"("range": "10.0.0.0/16")")), Names(file.path() + ": node_slice_size"));
    CHECK(config(file.network(R"("range": "10.0.0.0/24", "store": "node")")).store.kind == StoreKind::node);
    const NodeFile none(R"({"kubernetes": {"kubeconfig": "/k"}, "node_slice_size": ""})");
    CHECK(config(none.network()).store.kind == StoreKind::whereabouts);
}

TEST_CASE("what the cluster's store can't do is refused with a way out") {
    const std::string members = "{" + kReach + R"("store": "whereabouts", )";
    check_refused(R"({"range": "10.0.0.0/24", "store": "redis"})", "store", "\"redis\"");
    check_refused(R"({"range": "10.0.0.0/24", "store": 1})", "store", "1");
    check_refused(R"({"range": "10.0.0.0/24", "store": "whereabouts"})", "store", "kubeconfig");
    check_refused(R"({"range": "10.0.0.0/24", "store": "whereabouts", "kubernetes": {}})", "store", "\"kubeconfig\"");
    check_refused(R"({"range": "10.0.0.0/24", "store": "whereabouts", "kubernetes": {"kubeconfig": "k"}})",
                  "kubernetes.kubeconfig", "\"k\"");
    check_refused(members + R"("range": "10.0.0.1-10.0.0.9/24", "ipRanges": [{"range": "10.0.0.20-10.0.0.29/24"}]})",
                  "10.0.0.0/24", "different subnets");
    check_refused(members + R"("range": "::1:0:0:0/80"})", "::1:0:0:0/80", "begin");
    for (const char* name : {"Rails", "-a", "a.", "a..b", "a.-b", "a_b", "a/b"})
        check_refused(members + R"("range": "10.0.0.0/24", "network_name": ")" + name + "\"}", "network_name", name);
    CHECK(config(members + R"("range": "10.0.0.0/24", "network_name": "rails.a-1"})").warnings.empty());
}
