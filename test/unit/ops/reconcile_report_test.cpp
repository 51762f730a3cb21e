#include <rdmanet/ops/reconcile_report.hpp>

#include <rdmanet/json/reader.hpp>

#include <catch2/catch.hpp>

#include <algorithm>

using namespace rdmanet;
using cluster::Reconciled;
using Act = cluster::ReconcileOptions::Act;

namespace {

Reconciled example() {
    Reconciled result;
    result.freed.push_back({.kind = "IPPool",
                            .object = "10.0.0.0-24",
                            .address = "10.0.0.5",
                            .pod = "shop/till",
                            .ifname = "net1",
                            .rule = "pod-name",
                            .why = "there is no pod shop/till"});
    result.kept.push_back({.kind = "AddressBlock",
                           .object = "10.1.0.16-28",
                           .address = "10.1.0.16/28",
                           .node = "n1",
                           .why = "it is back"});
    result.needed = 3;
    result.foreign = 1;
    result.unreadable = 2;
    return result;
}

} // namespace

TEST_CASE("what was freed is named with its rule, and what was kept with the reason") {
    CHECK(ops::to_text(example(), Act::frees) ==
          "freed 10.0.0.5 of pod shop/till, net1 (IPPool 10.0.0.0-24), by rule pod-name: there is no pod shop/till\n"
          "kept 10.1.0.16/28 of node n1 (AddressBlock 10.1.0.16-28): it is back\n"
          "kept 3 records and blocks of pods and nodes that are there\n"
          "kept 1 record that names no pod\n"
          "kept 2 unreadable records\n");
    CHECK(ops::to_text(example(), Act::only_looks).starts_with("would free 10.0.0.5 of pod shop/till"));
    Reconciled forged;
    forged.freed.push_back({.kind = "IPPool",
                            .object = "10.0.0.0-24",
                            .address = "10.0.0.5",
                            .pod = "shop/till",
                            .ifname = "net1\nfreed 10.0.0.6\x1b[2J",
                            .rule = "pod-name",
                            .why = "there is no pod \x1b]0;"});
    const std::string text = ops::to_text(forged, Act::frees);
    CHECK(std::count(text.begin(), text.end(), '\n') == 1);
    CHECK(text.find('\x1b') == std::string::npos);
    Reconciled broken;
    broken.failure = "HTTP 500";
    CHECK(ops::to_text(broken, Act::frees).empty());
}

TEST_CASE("a wrong namespace or cluster is not taken for one with nothing to free") {
    const auto said = [](cluster::SeenStores seen) {
        Reconciled result;
        result.seen = std::move(seen);
        return ops::to_text(result, Act::frees);
    };
    using Kind = cluster::SeenKind;
    CHECK(said({.name_space = "kube-system", .pools = Kind{true, 2}, .blocks = Kind{false, 0}}) ==
          "looked at 2 IPPools in namespace \"kube-system\"\nnothing to free\n");
    CHECK(said({.name_space = "shop", .pools = Kind{true, 0}, .blocks = Kind{true, 0}}) ==
          "namespace \"shop\" has no IPPools: if they are in another one, name it with --namespace\n");
    CHECK(said({.name_space = "shop", .pools = Kind{true, 0}, .blocks = Kind{true, 1}}) ==
          "namespace \"shop\" has no IPPools: if they are in another one, name it with --namespace\n"
          "looked at 1 AddressBlock\nnothing to free\n");
    CHECK(said({.name_space = "kube-system", .pools = Kind{false, 0}, .blocks = Kind{false, 0}}) ==
          "the cluster does not know IPPools: if it should, correct the kubeconfig, or apply "
          "conf-examples/cluster-crds.yaml\n");
    Reconciled result;
    result.seen = {.name_space = "shop", .pools = Kind{true, 0}, .blocks = Kind{false, 0}};
    const json::Document document = json::Document::parse(ops::to_json(result, Act::frees));
    CHECK(document.root().at("seen").to_text() == R"({"blocks":null,"namespace":"shop","pools":0})");
}

TEST_CASE("the same for programs") {
    const json::Document document = json::Document::parse(ops::to_json(example(), Act::only_looks));
    const json::Reader root = document.root();
    CHECK(root.at("dryRun").boolean());
    CHECK(root.at("freed").to_text() ==
          R"([{"address":"10.0.0.5","interface":"net1","kind":"IPPool","object":"10.0.0.0-24","pod":"shop/till",)"
          R"("reason":"there is no pod shop/till","rule":"pod-name"}])");
    CHECK(
        root.at("kept").to_text() ==
        R"([{"address":"10.1.0.16/28","kind":"AddressBlock","node":"n1","object":"10.1.0.16-28","reason":"it is back"}])");
    CHECK(root.at("unreadable").integer(0, 9) == 2);
    CHECK_FALSE(root.find("failure"));
}
