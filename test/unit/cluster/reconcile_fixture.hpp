// What pods and nodes that are gone have left, in a namespace of its own, on the real API server.
#pragma once

#include "blocks_fixture.hpp"
#include "relay.hpp"

#include "blocks/objects.hpp"

#include <rdmanet/cluster/reconcile.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace rdmanet::cluster::test {

using Hook = std::function<Fate(const std::string&)>;
using Act = ReconcileOptions::Act;

inline constexpr const char* kClock = "GET /api/v1/nodes?limit=1";

class Leftovers : public BlocksFixture {
public:
    Leftovers() {
        for (const std::string& node : names_in(kNodesPath)) delete_node(node); // of other cases
        for (const std::string& block : names_in(kBlocksPath)) {
            patch(std::string(kBlocksPath) + "/" + block, R"([{"op":"add","path":"/metadata/finalizers","value":[]}])");
            delete_object(std::string(kBlocksPath) + "/" + block);
        }
        create("/api/v1/namespaces", R"({"metadata":{"name":")" + space + "\"}}");
    }

    [[nodiscard]] std::string objects(const std::string& plural) const {
        return "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/" + space + "/" + plural;
    }
    /// 10.0.0.0/24 with these allocations.
    void make_pool(const std::string& allocations, const std::string& before = {}) {
        create(objects("ippools"),
               R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":")" + before +
                   R"(10.0.0.0-24"},"spec":{"range":"10.0.0.0/24","allocations":)" + allocations + "}}");
    }
    static std::string record(const std::string& container, const std::string& podref) {
        return R"({"id":")" + container + R"(","podref":")" + podref + R"(","ifname":"net1"})";
    }
    void make_reservation(const std::string& name, const std::string& podref, const std::string& annotations = "{}") {
        create(
            objects("overlappingrangeipreservations"),
            R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"OverlappingRangeIPReservation","metadata":{"name":")" +
                name + R"(","annotations":)" + annotations + R"(},"spec":{"podref":")" + podref +
                R"(","ifname":"net1"}})");
    }
    /// As rdmanet writes them on node `suffix`. `uid`: of some Node of that machine, empty before one reports the boot.
    [[nodiscard]] std::string says(const std::string& container, const std::string& suffix,
                                   const std::string& uid = "uid") const {
        return R"({"rdmanet.cni/container-id":")" + container + R"(","rdmanet.cni/boot-id":")" + boot_of(suffix) +
               R"(","rdmanet.cni/node-name":")" + name_of(suffix) + R"(","rdmanet.cni/node-uid":")" + uid +
               R"(","rdmanet.cni/machine-id":")" + machine_of(suffix) + "\"}";
    }
    [[nodiscard]] std::string name_of(const std::string& suffix) const { return space + "-" + suffix; }
    [[nodiscard]] std::string boot_of(const std::string& suffix) const { return space + "-boot-" + suffix; }
    [[nodiscard]] std::string machine_of(const std::string& suffix) const { return "machine-" + name_of(suffix); }

    void make_pod(const std::string& name) {
        create("/api/v1/namespaces/" + space + "/pods",
               R"({"metadata":{"name":")" + name +
                   R"("},"spec":{"nodeName":"some","containers":[{"name":"c","image":"i"}]}})");
    }
    /// Its name.
    std::string make_living_node(const std::string& suffix) { return make_node(suffix, boot_of(suffix)); }
    void turn_off(const std::string& node) {
        patch(std::string(kNodesPath) + "/" + node, R"([{"op":"add","path":"/spec/taints","value":[{"key":)"
                                                    R"("node.kubernetes.io/out-of-service","effect":"NoExecute"}]}])");
    }
    void turn_on(const std::string& node) {
        patch(std::string(kNodesPath) + "/" + node, R"([{"op":"remove","path":"/spec/taints"}])");
    }

    struct Holding {
        std::string range_uid{};
        std::chrono::seconds gone_after = kLeastGoneAfter;
        std::uint64_t in_use = 0;
    };
    /// A block of node `suffix`.
    void make_block(const std::string& block, const std::string& suffix, const Holding& holding) {
        create(kBlocksPath, BlockObject{.space = space,
                                        .range = prefix("10.9.0.0/16"),
                                        .range_uid = holding.range_uid,
                                        .block = prefix(block),
                                        .node = {.name = name_of(suffix),
                                                 .uid = "uid",
                                                 .machine_id = machine_of(suffix),
                                                 .boot_id = boot_of(suffix)},
                                        .gone_after = holding.gone_after,
                                        .in_use = holding.in_use}
                                .to_text());
    }
    void make_block(const std::string& block, const std::string& suffix) { make_block(block, suffix, {}); }
    /// "gone", and so on; empty: it has none.
    [[nodiscard]] std::string mark_of_block(const std::string& block) {
        const auto outcome = admin->get(path_of(block), soon());
        const BlockObject object = BlockObject::parse(std::get<kube::Object>(outcome).content.root());
        return object.gone ? object.gone->why : "";
    }

    /// `clock` seconds from now, and with the clock on once the first check of pools is over. `hook` sees each
    /// request.
    Reconciled run(ReconcileOptions options = {}, const Hook& hook = nullptr) {
        Relay relay("admin", space);
        relay.has_small_pages = true;
        relay.clock_ahead = clock;
        relay.decide([&, asked = 0](const std::string& request) mutable {
            if (request == kClock && ++asked == 2) relay.clock_ahead = clock + kApart.count();
            return hook ? hook(request) : Fate::passes;
        });
        const auto api = relay.connect();
        const Reconciled result = reconcile(*api, options, soon());
        requests = relay.take_requests();
        return result;
    }
    Reconciled run_after(std::chrono::seconds time) {
        clock += time.count();
        return run();
    }
    [[nodiscard]] static std::string freed(const Reconciled& result) {
        return text_of(result.freed, [](const Left& left) { return left.rule; });
    }
    [[nodiscard]] static std::string kept(const Reconciled& result) {
        return text_of(result.kept, [](const Left& left) { return left.why; });
    }
    template <class Say>
    [[nodiscard]] static std::string text_of(const std::vector<Left>& all, Say say) {
        std::string text;
        for (const Left& left : all) text += (text.empty() ? "" : ", ") + left.address + " " + say(left);
        return text;
    }
    [[nodiscard]] std::string allocations() {
        const auto outcome = admin->get(objects("ippools/10.0.0.0-24"), soon());
        std::string keys;
        for (const auto& [key, record] :
             std::get<kube::Object>(outcome).content.root().at("spec").at("allocations").members())
            keys += (keys.empty() ? "" : " ") + key;
        return keys;
    }
    [[nodiscard]] std::string reservations() {
        std::string names;
        for (const std::string& name : names_in(objects("overlappingrangeipreservations")))
            names += (names.empty() ? "" : " ") + name;
        return names;
    }
    [[nodiscard]] auto count_asked(const std::string& what) const {
        return std::count_if(requests.begin(), requests.end(),
                             [&](const std::string& request) { return request.starts_with(what); });
    }
    [[nodiscard]] std::string ref(const std::string& pod) const { return space + "/" + pod; }

    std::int64_t clock = 0;
    std::vector<std::string> requests;

private:
    [[nodiscard]] std::vector<std::string> names_in(const std::string& path) {
        std::vector<std::string> names;
        for_each(path, [&](const json::Reader& one) { names.push_back(one.at("metadata").at("name").string()); });
        return names;
    }
};

} // namespace rdmanet::cluster::test
