// `rdmanet ipam migrate` on a node: leases of the node's own store go into a store of the cluster, and back.
#include "attachment_stage.hpp"
#include "cluster_calls.hpp"
#include "cluster_machine.hpp"
#include "cluster_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace rdmanet::test {
namespace {

constexpr const char* kBoth = "'range':'10.76.1.0/24','ipRanges':[{'range':'fd76::/120'}]";

/// User "limited" may do what conf-examples/cluster-operator.yaml grants to those who move ranges.
class Mover {
public:
    Mover() {
        shell(concat(cluster(),
                     R"(/apply '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding",)"
                     R"("metadata":{"name":"mover"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io",)"
                     R"("kind":"ClusterRole","name":"rdmanet-migrate"},"subjects":[{"apiGroup":)"
                     R"("rbac.authorization.k8s.io","kind":"User","name":"limited"}]}' )",
                     kBindings, " >/dev/null"));
        // The authorizer hears of it a moment later.
        wait_until(concat(". ", cluster(), "/lib; curl --silent --fail -o /dev/null --cacert ", cluster(),
                          "/pki/ca.crt -H 'Authorization: Bearer limited-token' ",
                          "\"$url\"/apis/rdmanet.cni/v1alpha1/addressranges"));
    }
    Mover(const Mover&) = delete;
    Mover& operator=(const Mover&) = delete;
    ~Mover() { (void)succeeds(concat(cluster(), "/delete ", kBindings, "/mover >/dev/null")); }

private:
    inline static const std::string kBindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
};

/// A network with two ranges, in the store that a case names (empty: in none), with an address space of its own.
class MovingNetwork {
public:
    [[nodiscard]] PluginCall call(const std::string& store, const std::string& container,
                                  const std::string& keys = kBoth) const {
        const std::string name = store.empty() ? "" : concat("'store':'", store, "',");
        PluginCall call = of(machine_.call_with(concat(name, keys), stage_.pod), container);
        call.ifname = "net" + container.substr(1);
        call.args = concat("IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=", container);
        return call;
    }

    /// The same for another pod.
    [[nodiscard]] static PluginCall in(const Pod& pod, PluginCall call) {
        call.netns = pod.path();
        return call;
    }

    [[nodiscard]] ProcessResult migrate(const std::string& to, const std::vector<std::string>& more = {},
                                        const std::string& keys = kBoth) const {
        return migrate_with(call(to, "c0", keys), to, more);
    }

    [[nodiscard]] static ProcessResult migrate_with(const PluginCall& network, const std::string& to,
                                                    const std::vector<std::string>& more = {}) {
        std::vector<std::string> command{
            binary(), "ipam",      "migrate", "--kubeconfig", cluster() + "/limited.kubeconfig", "--to", to, "--pause",
            "0",      "--network", "-"};
        command.insert(command.end(), more.begin(), more.end());
        return run_process(command, {.input = network.config});
    }

    [[nodiscard]] const std::string& space() const { return space_; }
    [[nodiscard]] const Stage& stage() const { return stage_; }

private:
    Mover mover_;
    std::string space_ = own_space();
    ClusterMachine machine_{space_ + "-a", space_};
    Stage stage_;
};

std::string on_node() {
    return shell("sqlite3 /run/rdmanet/leases.sqlite 'SELECT count(*) FROM leases' | tr -d '\\n'");
}
std::string in_blocks() {
    return shell("sqlite3 /run/rdmanet/blocks.sqlite 'SELECT count(*) FROM leases' | tr -d '\\n'");
}
/// Of the ranges of an address space.
std::string recorded_stores(const std::string& space) {
    return shell(concat(cluster(), "/get /apis/rdmanet.cni/v1alpha1/addressranges | jq --join-output ",
                        R"('[.items[].spec | select(.space == ")", space, R"(") | .store] | join(", ")')"));
}

/// Another node's address of range 10.76.3.0/24.
class Rival {
public:
    Rival(const std::string& space, std::string pool, const std::string& store)
        : first_(blocks_of(space).find("10.76.3.128/28") == std::string::npos ? "10.76.3.128" : "10.76.3.144"),
          block_(space + "-" + first_ + "-28"), pool_(std::move(pool)), store_(store) {
        if (store_ == "whereabouts") {
            set_record(R"({"id":"far","podref":"shop/other","ifname":"net1"})");
            return;
        }
        shell(concat(cluster(),
                     R"(/apply '{"apiVersion":"rdmanet.cni/v1alpha1","kind":"AddressBlock","metadata":{"name":")",
                     block_, R"("},"spec":{"space":")", space, R"(","range":"10.76.3.0/24","block":")", first_,
                     R"(/28",)", R"("node":{"name":"rival","uid":"u"},"bootID":"b","leaseFile":"f"}}' )", kBlocks));
    }
    void leave() const {
        if (store_ == "whereabouts") return set_record("null");
        shell(concat(cluster(), "/delete ", kBlocks, "/", block_));
    }
    [[nodiscard]] const std::string& block() const { return block_; }

private:
    void set_record(const std::string& record) const {
        shell(concat(". ", cluster(), R"(/lib; api --fail -X PATCH -H 'Content-Type: application/merge-patch+json' )",
                     R"(--data-binary '{"spec":{"allocations":{"9":)", record,
                     R"(}}}' "$url"/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/ippools/)", pool_));
    }

    std::string first_; // of a block that this node has not got
    std::string block_;
    std::string pool_;
    std::string store_;
};

std::string planned(const PluginCall& call) {
    const ProcessResult said = run_process({binary(), "plan", "--name", "net"}, {.input = call.config});
    return said.err + said.out;
}

/// What a call warns of that must succeed.
std::string warnings_of(const PluginCall& call) {
    const ProcessResult said = call.run();
    if (said.exit_status != 0) throw std::runtime_error(error_of(said));
    return complaints(said.err);
}

void forget_moves() {
    shell("rm /run/rdmanet/moved-ranges.json");
}

} // namespace

TEST_CASE("leases of the node's own store go into blocks while their pods run", "[cluster][moves]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const MovingNetwork network;
    const PluginCall old = network.call("node", "c1");
    const std::string result = add(old);
    CHECK(addresses(result) == "10.76.1.1/24 fd76::1/120");
    const PluginCall in_cluster = network.call("blocks", "c2");
    CHECK_THAT(refusal(in_cluster), Names("10.76.1.0/24 has 1 lease in the store of this node",
                                          "`rdmanet ipam migrate --to blocks --network FILE` on this node"));

    const std::string what = "10.76.1.1/24, fd76::1/120 of pod \"shop/c1\"";
    CHECK_THAT(network.migrate("blocks", {"--dry-run"}).out, Names("would move: " + what));
    CHECK(on_node() == "2");
    CHECK(blocks_of(network.space()) == "");
    const ProcessResult moved = network.migrate("blocks", {"--json"});
    CHECK(moved.err == "");
    CHECK(moved.exit_status == 0);
    CHECK(value(moved.out, "leases.0.fate") == "moved");
    CHECK(value(moved.out, "leases.0.from") == "node");
    CHECK(value(moved.out, "leases.0.addresses.1") == "fd76::1/120");
    CHECK(on_node() == "0");
    CHECK(in_blocks() == "2");
    CHECK(check(old, result) == "");
    CHECK(check(network.call("blocks", "c1"), result) == "");
    CHECK(value(network.migrate("blocks", {"--json"}).out, "leases") == "[]");

    const std::string other = addresses(add(in_cluster));
    CHECK_THAT(other, !Catch::Contains("10.76.1.1/24") && !Catch::Contains("fd76::1/120"));
    const auto has_gone = Names("10.76.1.1 to 10.76.1.254", "to store \"blocks\"", "migrate --to node --network FILE");
    CHECK_THAT(refusal(network.call("node", "c3")), has_gone);
    CHECK_THAT(planned(network.call("node", "c3")), has_gone);
    CHECK_THAT(error_of(network.call("node", "c3").with_command("STATUS").run()), has_gone);
    CHECK(on_node() == "0");
    CHECK(del(after(old, result)) == "");
    CHECK(in_blocks() == "2");
    CHECK(del(in_cluster) == "");
    CHECK(in_blocks() == "0");
    forget_moves();
    CHECK(network.stage().node.difference() == "");
}

TEST_CASE("leases of the node's own store go into pools; what another node has by then stays", "[cluster][moves]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const MovingNetwork network;
    const std::string range = "'range':'10.76.2.0/24'";
    const std::string with_static = range + ",'addresses':[{'address':'10.76.2.9/24'}]";
    const std::string pool = network.space() + "-10.76.2.0-24";
    const PluginCall first = network.call("node", "c1", with_static);
    const std::string result = add(first);
    CHECK(addresses(result) == "10.76.2.1/24 10.76.2.9/24");
    auto ended = std::make_unique<Pod>("ended");
    (void)add(MovingNetwork::in(*ended, network.call("node", "c2", range)));
    const PluginCall late = network.call("node", "c3", range);
    const std::string late_result = add(late);
    CHECK(addresses(late_result) == "10.76.2.3/24");
    ended.reset();
    shell(concat(cluster(), R"(/apply '{"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool",)",
                 R"("metadata":{"name":")", pool, R"("},"spec":{"range":"10.76.2.0/24","allocations":)",
                 R"({"3":{"id":"far","podref":"shop/other","ifname":"net1"}}}}')"));

    const ProcessResult some = network.migrate("whereabouts", {}, with_static);
    CHECK(some.err == "");
    CHECK(some.exit_status == 1);
    CHECK_THAT(some.out, Names("moved: 10.76.2.1/24, 10.76.2.9/24 of pod \"shop/c1\"",
                               "released: 10.76.2.2/24 of pod \"shop/c2\"", "stays: 10.76.2.3/24 of pod \"shop/c3\"",
                               "IPPool " + pool + " has it for pod \"shop/other\"", "delete the pod", "two stores"));
    CHECK(on_node() == "1");
    CHECK(check(first, result) == "");
    CHECK(check(late, late_result) == "");
    CHECK_THAT(refusal(network.call("whereabouts", "c4", range)),
               Names("10.76.2.0/24 has 1 lease in the store of this node"));
    CHECK_THAT(refusal(network.call("node", "c4", range)), Names("10.76.2.", "\"whereabouts\"", "migrate --to node"));
    CHECK(on_node() == "1");

    CHECK(del(after(late, late_result)) == "");
    CHECK(network.migrate("whereabouts", {}, with_static).exit_status == 0);
    const PluginCall next = network.call("whereabouts", "c4", range);
    CHECK(addresses(add(next)) == "10.76.2.2/24");
    CHECK_THAT(pool_records(pool), Names("\"c1\"", "\"c4\"", "shop/other") && !Catch::Contains("\"c3\""));
    CHECK(del(next) == "");
    CHECK(del(after(first, result)) == "");
    CHECK_THAT(pool_records(pool), Names("shop/other") && !Catch::Contains("\"c1\""));
    shell(concat(cluster(), "/delete ippools/", pool));
    forget_moves();
    CHECK(network.stage().node.difference() == "");
}

TEST_CASE("leases come back into the node's own store, unless another node has some", "[cluster][moves]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string from = GENERATE("blocks", "whereabouts");
    CAPTURE(from);
    const MovingNetwork network;
    const std::string range = "'range':'10.76.3.0/24','ipRanges':[{'range':'fd76:3::/120'}]";
    const std::string keys = range + ",'addresses':[{'address':'10.76.3.200/24'}]";
    const PluginCall old = network.call(from, "c1", keys);
    const std::string result = add(old);
    const std::string pool = network.space() + "-10.76.3.0-24";
    const Rival rival(network.space(), pool, from);

    const ProcessResult refused = network.migrate("node", {}, keys);
    CHECK(refused.exit_status == 1);
    CHECK_THAT(refused.err, Names(from == "blocks" ? "AddressBlock " + rival.block() + " belongs to node \"rival\""
                                                   : "IPPool " + pool + " has 10.76.3.9 for pod \"shop/other\"",
                                  "`rdmanet gc` on their nodes"));
    CHECK(recorded_stores(network.space()) == from + ", " + from);
    rival.leave();

    CHECK_THAT(network.migrate("node", {"--dry-run"}, keys).out,
               Names("would move: ", "of pod \"shop/c1\"", "from store \"" + from + "\" to store \"node\""));
    CHECK(recorded_stores(network.space()) == from + ", " + from);
    const ProcessResult moved = network.migrate("node", {}, keys);
    CHECK(moved.err == "");
    CHECK(moved.exit_status == 0);
    CHECK_THAT(moved.out, Names("moved: ", "of pod \"shop/c1\"", "from store \"" + from + "\" to store \"node\""));
    CHECK(recorded_stores(network.space()) == "node, node");
    CHECK(on_node() == "3");
    CHECK(blocks_of(network.space()) == "");
    CHECK(check(old, result) == "");
    CHECK_THAT(refusal(network.call(from, "c4", range)), Names("10.76.3.0/24"));
    const auto names_the_node = Names("10.76.3.0/24 in store \"node\"", "\"store\": \"node\"",
                                      "`rdmanet ipam migrate --to whereabouts --network FILE`");
    CHECK_THAT(refusal(network.call("", "c4", range)), names_the_node);
    CHECK_THAT(planned(network.call("", "c4", range)), names_the_node);
    const PluginCall next = network.call("node", "c3", range);
    CHECK_THAT(addresses(add(next)), !Catch::Contains(addresses(result).substr(0, addresses(result).find(' '))));
    CHECK(del(next) == "");
    CHECK(del(after(old, result)) == "");
    CHECK(on_node() == "0");
    if (from == "whereabouts") CHECK(pool_records(pool) == kHasNoRecord);

    // And away again: nobody else has them.
    const PluginCall on_the_node = network.call("node", "c5", keys);
    const std::string its_result = add(on_the_node);
    CHECK(network.migrate(from, {}, keys).exit_status == 0);
    CHECK(recorded_stores(network.space()) == from + ", " + from);
    CHECK(check(on_the_node, its_result) == "");
    CHECK(on_node() == "0");
    CHECK(del(on_the_node) == "");
    forget_moves();
    CHECK(network.stage().node.difference() == "");
}

TEST_CASE("a range with leases in the node's own store stays there until it is moved", "[cluster][moves]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const MovingNetwork network;
    const std::string range = "'range':'10.76.4.0/24'";
    const PluginCall old = network.call("node", "c1", range);
    const std::string old_result = add(old);
    const PluginCall open = network.call("", "c2", range);
    const auto says_that_it_stays = Names("range 10.76.4.0/24 stays in the store of this node, which has 1 lease of it",
                                          "`rdmanet ipam migrate --to whereabouts --network FILE` on this node");
    CHECK_THAT(planned(open),
               says_that_it_stays && Names("keep leases in store \"node\", which has 1 lease", "253 of 254 are free"));
    CHECK_THAT(warnings_of(open.with_command("STATUS")), says_that_it_stays);
    const ProcessResult said = open.run();
    CHECK_THAT(complaints(said.err), says_that_it_stays);
    CHECK(addresses(said.out) == "10.76.4.2/24");
    CHECK(on_node() == "2");
    CHECK(recorded_stores(network.space()) == "");

    // What is in the node's own store is found there, with a record and without.
    CHECK(check(open, said.out) == "");
    const PluginCall lost = network.call("", "c3", range);
    (void)add(lost);
    shell("rm $(grep -l '\"c3\"' /run/rdmanet/attachments/*.json)");
    CHECK(del(lost) == "");
    CHECK(on_node() == "2");
    CHECK(succeeds("ip -n pod link show net2"));
    CHECK(!succeeds("ip -n pod link show net3"));

    const ProcessResult moved = MovingNetwork::migrate_with(open, "whereabouts");
    CHECK(moved.err == "");
    CHECK(moved.exit_status == 0);
    CHECK(on_node() == "0");
    CHECK(recorded_stores(network.space()) == "whereabouts");
    CHECK(check(open, said.out) == "");
    const PluginCall next = network.call("", "c4", range);
    CHECK_THAT(planned(next), Names("keep leases in store \"whereabouts\"") && !Catch::Contains("stays in the store"));
    CHECK(addresses(add(next)) == "10.76.4.3/24");
    CHECK_THAT(pool_records(network.space() + "-10.76.4.0-24"), Names("\"c1\"", "\"c2\"", "\"c4\""));
    for (const PluginCall& call : {old, open, next}) CHECK(del(call) == "");
    CHECK(pool_records(network.space() + "-10.76.4.0-24") == kHasNoRecord);
    forget_moves();
    CHECK(network.stage().node.difference() == "");
}

TEST_CASE("leases of the node's own store do not keep a range that the cluster has by now, or may have",
          "[cluster][moves]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const MovingNetwork network;
    const std::string range = "'range':'10.76.5.0/24'";
    const PluginCall old = network.call("node", "c1", range);
    (void)add(old);
    const PluginCall open = network.call("", "c2", range);
    (void)add(open);
    CHECK(on_node() == "2");
    CHECK(del(open) == "");
    // Another node records the range, a moment after this one has asked.
    shell(concat(cluster(),
                 R"(/apply '{"apiVersion":"rdmanet.cni/v1alpha1","kind":"AddressRange","metadata":{"name":")",
                 network.space(), R"(-10.76.5.0-24","labels":{"rdmanet.cni/space":")", network.space(),
                 R"("}},"spec":{"space":")", network.space(),
                 R"(","range":"10.76.5.0/24","store":"blocks","blockSize":16,"confirmed":true}}' )",
                 "/apis/rdmanet.cni/v1alpha1/addressranges"));
    const auto is_refused = Names("10.76.5.0/24 has 1 lease in the store of this node",
                                  "`rdmanet ipam migrate --to blocks --network FILE` on this node");
    CHECK_THAT(refusal(open), is_refused);
    CHECK_THAT(error_of(open.with_command("STATUS").run()), is_refused);
    CHECK_THAT(planned(open), is_refused);
    CHECK(on_node() == "1");
    write_kubeconfig(kNobody);
    shell("rm /run/rdmanet/range-*");
    CHECK_THAT(refusal(open), Names("code 11: ", "connection refused"));
    CHECK_THAT(warnings_of(open.with_command("STATUS")), Names("not known whether an ADD gets an address"));
    CHECK(on_node() == "1");
    CHECK(del(old) == "");
    use_cluster_as("rdmanet");
    shell(concat(cluster(), "/delete /apis/rdmanet.cni/v1alpha1/addressranges/", network.space(), "-10.76.5.0-24"));
    CHECK(network.stage().node.difference() == "");
}

} // namespace rdmanet::test
