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
using UnknownNode = ReconcileOptions::UnknownNode;

inline constexpr const char* kClock = "GET /api/v1/pods?limit=1";

class Leftovers : public BlocksFixture {
public:
    Leftovers() {
        if (!is_there()) return;
        for_each(kNodesPath,
                 [&](const json::Reader& node) { nodes_.push_back(node.at("metadata").at("name").string()); });
        for (const std::string& node : nodes_) delete_node(node); // another case's
        create("/api/v1/namespaces", R"({"metadata":{"name":")" + space + "\"}}");
    }

    void create(const std::string& path, const std::string& object) {
        expect_done(admin->create(path, object, soon()));
    }
    [[nodiscard]] std::string objects(const std::string& plural) const {
        return "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/" + space + "/" + plural;
    }
    /// 10.0.0.0/24 with these allocations.
    void make_pool(const std::string& allocations) {
        create(objects("ippools"),
               R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":)"
               R"("10.0.0.0-24"},"spec":{"range":"10.0.0.0/24","allocations":)" +
                   allocations + "}}");
    }
    static std::string record(const std::string& container, const std::string& podref) {
        return R"({"id":")" + container + R"(","podref":")" + podref + R"(","ifname":"net1"})";
    }
    void make_reservation(const std::string& address, const std::string& podref,
                          const std::string& annotations = "{}") {
        create(
            objects("overlappingrangeipreservations"),
            R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"OverlappingRangeIPReservation","metadata":{"name":")" +
                address + R"(","annotations":)" + annotations + R"(},"spec":{"podref":")" + podref +
                R"(","ifname":"net1"}})");
    }
    /// As rdmanet writes them.
    static std::string says(const std::string& container, const std::string& pod_uid, const std::string& boot = "",
                            const std::string& node_uid = "") {
        return R"({"rdmanet.cni/container-id":")" + container + R"(","rdmanet.cni/pod-uid":")" + pod_uid +
               R"(","rdmanet.cni/boot-id":")" + boot + R"(","rdmanet.cni/node-uid":")" + node_uid + "\"}";
    }
    /// Returns its UID.
    std::string make_pod(const std::string& name, const std::string& node = "some",
                         const std::string& annotations = "{}") {
        const std::string pods = "/api/v1/namespaces/" + space + "/pods";
        create(pods, R"({"metadata":{"name":")" + name + R"(","annotations":)" + annotations +
                         R"(},"spec":{"nodeName":")" + node + R"(","containers":[{"name":"c","image":"i"}]}})");
        const auto made = admin->get(pods + "/" + name, soon());
        return std::get<kube::Object>(made).content.root().at("metadata").at("uid").string();
    }
    void delete_pod(const std::string& name, const std::string& uid) {
        // Grace of 0: kubelet, which would confirm, is not there.
        expect_done(admin->remove("/api/v1/namespaces/" + space + "/pods/" + name + "?gracePeriodSeconds=0",
                                  {.uid = uid}, soon()));
    }
    void end_pod(const std::string& name, const std::string& network) {
        patch(
            "/api/v1/namespaces/" + space + "/pods/" + name + "/status",
            R"([{"op":"replace","path":"/status/phase","value":"Succeeded"},{"op":"add","path":"/status/conditions","value":[)"
            R"({"type":"PodReadyToStartContainers","status":")" +
                network + R"("}]}])");
    }
    std::string make_ready_node(const std::string& suffix, const std::string& ready = "True") {
        const std::string name = make_node(suffix, space + "-boot-" + suffix);
        set_ready(name, ready);
        return name;
    }
    void set_ready(const std::string& node, const std::string& ready) {
        patch(std::string(kNodesPath) + "/" + node + "/status",
              R"([{"op":"add","path":"/status/conditions","value":[{"type":"Ready","status":")" + ready + "\"}]}]");
    }

    /// Runs with the clock on once the first look is over. `hook` sees each request.
    Reconciled run(ReconcileOptions options = {}, const Hook& hook = nullptr) {
        Relay relay("admin", space);
        relay.has_small_pages = true;
        relay.decide([&, asked = 0](const std::string& request) mutable {
            if (request == kClock && ++asked == 2) relay.clock_ahead = kBlocksApart.count();
            return hook ? hook(request) : Fate::passes;
        });
        const auto api = relay.connect();
        const Reconciled result = reconcile(*api, options, soon());
        requests = relay.take_requests();
        return result;
    }
    /// Of this case, and not blocks of others.
    [[nodiscard]] std::string freed(const Reconciled& result) const {
        return text_of(result.freed, [](const Left& left) { return left.rule; });
    }
    [[nodiscard]] std::string kept(const Reconciled& result) const {
        return text_of(result.kept, [](const Left& left) { return left.why; });
    }
    template <class Say>
    [[nodiscard]] std::string text_of(const std::vector<Left>& all, Say say) const {
        std::string text;
        for (const Left& left : all)
            if (!left.kind.starts_with("Address") || left.object.starts_with(space)) // those are in no namespace
                text += (text.empty() ? "" : ", ") + left.address + " " + say(left);
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
        for_each(objects("overlappingrangeipreservations"), [&](const json::Reader& object) {
            names += (names.empty() ? "" : " ") + object.at("metadata").at("name").string();
        });
        return names;
    }
    [[nodiscard]] bool has_asked(const std::string& what) const {
        return std::any_of(requests.begin(), requests.end(),
                           [&](const std::string& request) { return request.starts_with(what); });
    }
    [[nodiscard]] std::string ref(const std::string& pod) const { return space + "/" + pod; }

    std::vector<std::string> requests;

private:
    std::vector<std::string> nodes_;
};

} // namespace rdmanet::cluster::test
