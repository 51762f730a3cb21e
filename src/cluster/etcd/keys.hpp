// Names of keys, as rdmanet/cluster/etcd_store.hpp lists them.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/ipam/lease.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::cluster {

class EtcdKeys {
public:
    explicit EtcdKeys(std::string prefix) : prefix_(std::move(prefix)) {}

    /// Addresses have as many digits as their family allows, so that keys are sorted as addresses are.
    [[nodiscard]] std::string address(const std::string& space, const base::IpAddress& address) const;
    [[nodiscard]] std::string addresses(const std::string& space) const;
    /// Of a key that address() made; nullopt for others.
    [[nodiscard]] static std::optional<base::IpAddress> address_in(std::string_view key);

    /// The text of which a part of a key was made, as the space; nullopt for others.
    [[nodiscard]] static std::optional<std::string> text_of_part(std::string_view part);

    /// Which store gives the addresses of the range.
    [[nodiscard]] std::string range(const std::string& space, const base::IpPrefix& subnet) const;
    /// With a slash at its end: of all ranges of the space.
    [[nodiscard]] std::string ranges(const std::string& space) const;
    /// Of a key that range() made; nullopt for others.
    [[nodiscard]] static std::optional<base::IpPrefix> range_in(std::string_view key);

    /// With a slash at its end: of all keys.
    [[nodiscard]] std::string all() const { return prefix_ + '/'; }

    /// With a slash at its end: the leases of all attachments.
    [[nodiscard]] std::string owners(const std::string& space) const;
    /// With a slash at its end: the leases of an attachment.
    [[nodiscard]] std::string owner(const std::string& space, const ipam::OwnerKey& key) const;
    [[nodiscard]] std::string owner(const ipam::Lease& lease) const;

    [[nodiscard]] std::string node(const std::string& machine_id) const;
    /// With a slash at its end: what pods of the node have.
    [[nodiscard]] std::string pods(const std::string& machine_id) const;
    /// With a slash at its end: what containers of the pod have on that interface of that network.
    [[nodiscard]] std::string pod(const std::string& machine_id, const ipam::Owner& owner) const;
    [[nodiscard]] std::string held(const std::string& machine_id, const ipam::Lease& lease) const;
    /// The space of a key that held() made, if it is of a lease of that attachment.
    [[nodiscard]] static std::optional<std::string> space_in(std::string_view held, const ipam::OwnerKey& key);

private:
    std::string prefix_;
};

} // namespace rdmanet::cluster
