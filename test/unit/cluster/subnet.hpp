// Pool 10.0.0.0/29 of a space of its own, by a user that has the rights of the example.
#pragma once

#include "blocks_fixture.hpp"

#include <rdmanet/json/reader.hpp>

namespace rdmanet::cluster::test {

inline constexpr const char* kObjects = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/";

/// `spec` of an object as the server has it; empty if it is absent.
inline std::string spec_at(kube::Api& api, const std::string& path) {
    const auto outcome = api.get(kObjects + path, soon());
    const auto* object = std::get_if<kube::Object>(&outcome);
    return object == nullptr ? "" : object->content.root().at("spec").to_text();
}

class Subnet : public BlocksFixture {
public:
    [[nodiscard]] std::string pool() { return spec_at(*api, "ippools/" + space + "-10.0.0.0-29"); }
    [[nodiscard]] std::string reservation(const std::string& address) {
        return spec_at(*api, "overlappingrangeipreservations/" + space + "-" + address);
    }
    [[nodiscard]] std::string uid_of(const std::string& whose, const std::string& address) {
        const auto outcome =
            api->get(std::string(kObjects) + "overlappingrangeipreservations/" + space + "-" + address, soon());
        const json::Reader metadata = std::get<kube::Object>(outcome).content.root().at("metadata");
        return metadata.at("annotations").at("rdmanet.cni/" + whose + "-uid").string();
    }
    [[nodiscard]] std::string reserve(const ipam::Owner& who, const std::vector<ipam::Claim>& claims) {
        return text_of(store->reserve(who, claims, soon()));
    }
    [[nodiscard]] std::string release(const ipam::Owner& who) { return text_of(store->release(who.key, soon())); }

    /// As whereabouts makes it for pod "p", without a container.
    void make_reservation(const std::string& address) {
        create(
            std::string(kObjects) + "overlappingrangeipreservations",
            R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"OverlappingRangeIPReservation","metadata":{"name":")" +
                space + "-" + address + R"("},"spec":{"podref":"default/p","ifname":"net1"}})");
    }

    std::unique_ptr<kube::Api> api = connect();
    std::unique_ptr<WhereaboutsStore> store = std::make_unique<WhereaboutsStore>(*api, options({"10.0.0.0/29"}));
    const std::string kRange = "10.0.0.0/29";
};

} // namespace rdmanet::cluster::test
