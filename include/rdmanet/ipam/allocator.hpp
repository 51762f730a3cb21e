// Policy over a Store: which address an attachment gets.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/ipam/liveness.hpp>
#include <rdmanet/ipam/store.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ipam {

/// An address that the pod asked for (runtimeConfig.ips, CNI_ARGS IP), with or without prefix length.
struct RequestedAddress {
    base::IpAddress address;
    std::optional<unsigned> prefix_length;
};

struct AllocatedAddress {
    base::IpPrefix address;
    std::optional<base::IpAddress> gateway;
};

struct Allocation {
    std::vector<AllocatedAddress> ips;    // one for each range, then the static ones
    std::vector<Lease> leases;            // the same as records: they restore a lost store
    std::vector<Lease> fresh;             // leases that the attachment did not have before
    std::vector<OwnerKey> reclaimed_from; // dead owners whose leases were reclaimed for this call
    std::vector<Route> routes;
    Dns dns;
    std::vector<std::string> warnings; // of this call; the configuration's warnings are in Config
};

class Allocator {
public:
    Allocator(Store& store, LivenessProbe& probe) : store_(store), probe_(probe) {}

    /// Returns all addresses or throws. Repeated for the same attachment, it returns the same leases. Another
    /// container of the same pod, interface and network takes over the old container's leases if their owner is
    /// provably dead. If every address of a range is leased or resting, the leases of dead owners are reclaimed
    /// first. Throws RequestedAddressInvalid, RequestedAddressTaken, ExhaustedError, and what a Store throws.
    [[nodiscard]] Allocation allocate(const Config& config, const Owner& owner,
                                      const std::vector<RequestedAddress>& requested, const base::Deadline& deadline);

    /// What is wrong with the attachment's leases, one sentence each. `addresses` are the ones that it should hold.
    [[nodiscard]] std::vector<std::string> check(const OwnerKey& key, const std::vector<base::IpPrefix>& addresses,
                                                 const base::Deadline& deadline);

    /// Whether the next attachment gets an address of the range: a free one, or one whose owner is dead.
    [[nodiscard]] bool has_room(const ConfiguredRange& range, const base::Deadline& deadline);

    /// The warnings that allocate() would give now. Throws RequestedAddressInvalid, RequestedAddressTaken and
    /// ExhaustedError as allocate() would. Changes nothing.
    [[nodiscard]] std::vector<std::string> foresee(const Config& config, const std::vector<RequestedAddress>& requested,
                                                   const base::Deadline& deadline);

    /// How full the range is. Reads each of its leases.
    [[nodiscard]] Usage usage(const ConfiguredRange& range, const base::Deadline& deadline);

    /// What a person should know of leases that the store cannot answer for any more, one sentence each.
    [[nodiscard]] std::vector<std::string> find_doubts(const base::Deadline& deadline);

private:
    struct Sweep {
        std::size_t leases = 0;
        std::size_t dead = 0;
        std::size_t freed = 0;   // leases of dead owners that this process reclaimed
        std::size_t unknown = 0; // leases kept, because their owner is not provably dead
        std::string reason{};    // why, for the first of the unknown ones
        [[nodiscard]] std::string doubt() const;
    };
    void take_over_from_predecessors(const Owner& owner, const std::vector<Claim>& claims,
                                     const base::Deadline& deadline);
    [[nodiscard]] Granted reserve(const Owner& owner, std::vector<Claim> claims, const Config& config,
                                  const base::Deadline& deadline);
    void require_free(const Claim& claim, std::size_t number, const base::Deadline& deadline);
    [[nodiscard]] bool has_dead_holder(const Claim& claim, const base::Deadline& deadline);
    [[nodiscard]] bool reclaim_from_dead_holder(const Lease& held, const base::Deadline& deadline);
    [[nodiscard]] Sweep reclaim_from_the_dead(const Claim& claim, const base::Deadline& deadline);
    std::size_t reclaim(const std::vector<Lease>& dead, const base::Deadline& deadline);

    Store& store_;
    LivenessProbe& probe_;
    std::vector<OwnerKey> reclaimed_from_;
};

} // namespace rdmanet::ipam
