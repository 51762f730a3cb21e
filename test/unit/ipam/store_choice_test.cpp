// Which store a network uses, and how it is reached.
#include "config_case.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace rdmanet;
using namespace rdmanet::ipam;
using namespace rdmanet::ipam::test;
using Catch::Matchers::Contains;
using rdmanet::test::concat;
using rdmanet::test::Names;

namespace {

const std::string kReach = R"("kubernetes": {"kubeconfig": "/etc/k"}, )";

/// A file of the node, in a directory whose files networks may use.
class FileOfNode {
public:
    explicit FileOfNode(std::string_view content) { node_root().write(path_, content); }
    [[nodiscard]] const std::string& path() const { return path_; }
    /// A network that names the file.
    [[nodiscard]] std::string network(const std::string& members = R"("range": "10.0.0.0/24")") const {
        return R"({"configuration_path": ")" + path() + "\", " + members + "}";
    }

private:
    static inline int count = 0;
    std::string path_ = concat("/etc/cni/net.d/", ++count, ".conf");
};

void check_refused(const std::string& network, const std::string& where, const std::string& what) {
    INFO(network);
    const std::string error = refusal_of(network);
    CHECK_THAT(error, Contains(where) && Contains(what));
}

} // namespace

TEST_CASE("leases are kept on the node, or in the cluster if the network or its node names one") {
    CHECK(config(R"({"range": "10.0.0.0/24"})").store.kind == StoreKind::node);
    const Config shared = config(R"({"range": "10.0.0.0/8", "ipRanges": [{"range": "fd00::/64"}], "nodeName": "a",
        "kubernetes": {"kubeconfig": "/etc/k", "k8s_api_root": ""}})");
    CHECK(shared.store.kind == StoreKind::cluster);
    CHECK(shared.store.kubeconfig == "/etc/k");
    CHECK(shared.store.node_name == "a");
    CHECK(shared.warnings.empty());
    const Config alone = config("{" + kReach + R"("range": "10.0.0.0/24", "store": "node"})");
    CHECK(alone.store.kind == StoreKind::node);
    CHECK(alone.store.kubeconfig == "/etc/k"); // whose AddressRanges count all the same
    CHECK_THAT(only_warning(R"({"range": "10.0.0.0/24", "kubernetes": {"kubeconfig": "/k", "kubeConfig2": 1}})"),
               Names("kubernetes.kubeConfig2"));
    for (const char* name : {"../x", "a?b", "a#", "A", "a/b", "%2e"})
        check_refused("{" + kReach + R"("range": "10.0.0.0/16", "nodeName": ")" + name + "\"}", "nodeName", name);
}

TEST_CASE("another store than the node's gives no pod an address, and what it has stays") {
    const auto check_fault = [](const std::string& network, const std::string& where, const std::string& what) {
        INFO(network);
        const auto fault = config(network).fault;
        REQUIRE(fault);
        CHECK_THAT(fault->what(), Contains(where) && Contains(what) && Contains("AddressRanges"));
    };
    for (const char* store : {"whereabouts", "redis"}) {
        check_fault(concat("{", kReach, R"("range": "10.0.0.0/24", "store": ")", store, "\"}"), "store", store);
        check_fault(concat(R"({"range": "10.0.0.0/24", "store": ")", store, "\"}"), "store", store);
    }
    check_refused(R"({"range": "10.0.0.0/24", "store": 1})", "store", "1");
    const FileOfNode file(R"({"kubernetes": {"kubeconfig": "/k"}, "store": "blocks"})");
    check_fault(file.network(), file.path() + ": store", "\"blocks\"");
    CHECK_FALSE(config(file.network(R"("range": "10.0.0.0/24", "store": "node")")).fault);
}

TEST_CASE("a kubeconfig of whereabouts is used with a warning: its token ends with whereabouts") {
    CHECK_THAT(only_warning(R"({"range": "10.0.0.0/24", "kubernetes": {"kubeconfig":
        "/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig"}})"),
               Names("/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig", "token", "ServiceAccount"));
}

TEST_CASE("what pools have no place for counts when it is known that the network uses them") {
    const Config open = config("{" + kReach + R"("range": "10.0.0.0/24", "addresses": [{"address": "10.9.0.1/24"},
        {"address": "10.0.0.9/24"}], "cooldown": 5})");
    CHECK(open.warnings.empty());
    const Config in_blocks = settle_store(open, StoreKind::blocks);
    CHECK(in_blocks.store.kind == StoreKind::blocks);
    CHECK(in_blocks.warnings.empty());
    const Config apart = config("{" + kReach + R"("range": "10.0.0.0/24", "network_name": "blue",
        "enable_overlapping_ranges": false})");
    CHECK(settle_store(apart, StoreKind::blocks).ranges.front().space == "blue");
    CHECK(settle_store(apart, StoreKind::pools).ranges.front().space == "blue@10.0.0.0/24");
    const Config in_pools = settle_store(open, StoreKind::pools);
    CHECK(in_pools.store.kind == StoreKind::pools);
    REQUIRE(in_pools.warnings.size() == 2);
    CHECK_THAT(in_pools.warnings[0], Names("addresses: 10.0.0.9", "10.0.0.0/24", "\"exclude\""));
    CHECK_THAT(in_pools.warnings[1], Names("cooldown", "only the node"));
    CHECK(settle_store(config("{" + kReach + R"("range": "10.0.0.0/24", "cooldown": 0})"), StoreKind::pools)
              .warnings.empty());
    for (const auto& [range, why] :
         {std::pair{R"("range": "10.0.0.1-10.0.0.9/24", "ipRanges": [{"range": "10.0.0.20-10.0.0.29/24"}])", "subnet"},
          std::pair{R"("range": "::1:0:0:0/80")", "begin"}}) {
        const Config wrong = config(concat("{", kReach, range, "}"));
        CHECK_NOTHROW(settle_store(wrong, StoreKind::blocks));
        CHECK_THROWS_WITH(settle_store(wrong, StoreKind::pools), Contains(why));
    }
}

TEST_CASE("what a network does not say of its store is in a file of the node") {
    const FileOfNode file(
        R"({"datastore": "kubernetes", "kubernetes": {"kubeconfig": "/etc/k"}, "log_level": "debug"})");
    const Config shared = config(file.network());
    CHECK(shared.store.kind == StoreKind::cluster);
    CHECK(shared.store.kubeconfig == "/etc/k");
    CHECK(config(file.network(R"("range": "10.0.0.0/24", "store": "node")")).store.kind == StoreKind::node);
    CHECK(config(file.network(R"("range": "10.0.0.0/24", "kubernetes": {"kubeconfig": "/own"})")).store.kubeconfig ==
          "/own");
    const FileOfNode on_node(R"({"store": "node"})");
    CHECK(config(on_node.network("\"range\": \"10.0.0.0/24\", " + kReach + "\"$comment\": 1")).store.kind ==
          StoreKind::node);
}

TEST_CASE("a file of the node that can't be used is named, and its content is not shown") {
    const FileOfNode secret("root:s3cret:19000:0:99999:7:::");
    CHECK_THAT(refusal_of(secret.network()), Names(secret.path(), "not JSON") && !Contains("s3cret"));
    const FileOfNode wrong(R"({"kubernetes": {"kubeconfig": "s3cret"}})");
    CHECK_THAT(refusal_of(wrong.network()), Names(wrong.path(), "kubernetes.kubeconfig") && !Contains("s3cret"));
    check_refused(R"({"range": "10.0.0.0/24", "configuration_path": "/etc/cni/net.d/x"})", "configuration_path",
                  "this node has no file /etc/cni/net.d/x");
    node_root().make("etc/cni/net.d/d");
    check_refused(R"({"range": "10.0.0.0/24", "configuration_path": "/etc/cni/net.d/d"})", "configuration_path",
                  "/etc/cni/net.d/d is not a regular file");
    check_refused(R"({"range": "10.0.0.0/24", "configuration_path": "x"})", "configuration_path", "absolute path");
}

TEST_CASE("how long a cluster's store is waited for is said by the network first, then by the node's file") {
    const auto limits = [](const std::string& text) {
        const StoreLimits found = config(text).store.limits;
        return concat(found.connect.count(), ' ', found.request.count(), ' ', found.add.count());
    };
    CHECK(limits(R"({"range": "10.0.0.0/24", "kubernetes": {"kubeconfig": "/k"}})") == "2000 5000 30000");
    const FileOfNode file(R"({"kubernetes": {"kubeconfig": "/k", "connectTimeoutMs": 1, "addTimeoutMs": 60000}})");
    CHECK_THAT(refusal_of(file.network()), Names(file.path(), "kubernetes.connectTimeoutMs"));
    const FileOfNode better(R"({"kubernetes": {"kubeconfig": "/k", "connectTimeoutMs": 100, "addTimeoutMs": 60000}})");
    CHECK(limits(better.network()) == "100 5000 60000");
    CHECK(limits(better.network(R"("range": "10.0.0.0/24", "kubernetes": {"requestTimeoutMs": 700, "addTimeoutMs":
        1000})")) == "100 700 1000");
}

TEST_CASE("keys of a cluster never mean the node's own store") {
    check_refused(R"({"range": "10.0.0.0/24", "kubernetes": {}})", "kubernetes", "\"kubeconfig\"");
    check_refused(R"({"range": "10.0.0.0/24", "kubernetes": "x"})", "kubernetes", "\"x\"");
    check_refused(R"({"range": "10.0.0.0/24", "kubernetes": {"kubeconfig": ""}})", "kubernetes", "\"kubeconfig\"");
    check_refused(R"({"range": "10.0.0.0/24", "node_slice_size": "/26"})", "node_slice_size", "slices");
    const std::string fixed = R"({"addresses": [{"address": "10.0.0.5/24"}], )";
    check_refused(fixed + R"("kubernetes": {}})", "kubernetes", "\"kubeconfig\"");
    CHECK(config(fixed + R"("kubernetes": {"kubeconfig": "/k"}})").store.kind == StoreKind::node);
}

TEST_CASE("slices of whereabouts' own file are refused where its pools would be used") {
    const std::string reach = R"("kubernetes": {"kubeconfig": "/k"}, "node_slice_size": "/26")";
    const FileOfNode file("{" + reach + "}");
    CHECK_THAT(refusal_of(file.network()), Names(file.path() + ": node_slice_size", "slices", "remove the key"));
    CHECK_THAT(refusal_of(file.network(R"("range": "10.0.0.0/16")")), Names(file.path() + ": node_slice_size"));
    CHECK(config(file.network(R"("range": "10.0.0.0/24", "store": "node")")).store.kind == StoreKind::node);
    const FileOfNode none(R"({"kubernetes": {"kubeconfig": "/k"}, "node_slice_size": ""})");
    CHECK(config(none.network()).store.kind == StoreKind::cluster);
}

TEST_CASE("what a cluster can't do is refused with a way out") {
    check_refused(R"({"range": "10.0.0.0/24", "kubernetes": {"kubeconfig": "k"}})", "kubernetes.kubeconfig", "\"k\"");
    for (const char* name : {"Rails", "-a", "a.", "a..b", "a.-b", "a_b", "a/b"})
        check_refused("{" + kReach + R"("range": "10.0.0.0/24", "network_name": ")" + name + "\"}", "network_name",
                      name);
    CHECK(config("{" + kReach + R"("range": "10.0.0.0/24", "network_name": "rails.a-1"})").warnings.empty());
}
