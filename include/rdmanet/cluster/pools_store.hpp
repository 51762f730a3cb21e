// Leases in the objects of whereabouts, as whereabouts keeps them: an IPPool for each range, and an
// OverlappingRangeIPReservation for each address. Both plugins may use the same pools at the same time.
//
// A pool's record has the container, the pod and the interface, and room for nothing else. So these leases know
// neither the CNI network nor the pod's network namespace; `known_owner` adds what the journal of this node knows.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/cluster/place.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/store.hpp>
#include <rdmanet/kube/api.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::cluster {

/// Whether this node has used the pool in this boot, and so knows that no AddressRange covered it then. `cluster`: how
/// the node reaches it.
[[nodiscard]] bool knows_pool(const Place& place, const std::string& state_directory, const std::string& boot_id,
                              const std::string& cluster);

struct PoolsParts;

class WhereaboutsStore final : public ipam::Store {
public:
    struct Options {
        std::string name_space; // of the objects
        /// Where find() and release() look, in the order of slots.
        std::vector<Place> places;
        /// Addresses whose reservations release() looks for although no pool leads to them: requests that got no answer
        /// may have made them, or an ADD was killed while it inherited the address.
        std::vector<std::pair<std::string, base::IpAddress>> also; // space and address
        /// An ADD of the attachment may have ended between the pool's record and the reservation.
        bool has_open_claim = false;
        ThisNode node{}; // reservations say it, and AddressRanges its name
        /// Writes down that the address is about to be claimed. When it returns, the claim may be sent.
        std::function<void(const ipam::Lease&)> before_claim;
        /// Writes down that the address is about to be inherited, so that `also` has it if this process is killed.
        std::function<void(const ipam::Lease&)> before_inheritance;
        /// The owner as the journal of this node knows it, by container and interface.
        std::function<std::optional<ipam::Owner>(const std::string& container_id, const std::string& ifname)>
            known_owner;
        std::function<void(const std::string&)> warn;
        /// Where the node remembers which pools it has checked, and which addresses it gave back; empty: nowhere.
        std::string state_directory{};
        std::string cluster{}; // how the node reaches it, for that memory
    };

    /// Asks nobody anything. `api` must outlive it.
    WhereaboutsStore(kube::Api& api, Options options);
    ~WhereaboutsStore() override;

    /// Also throws RangeMoved.
    [[nodiscard]] ipam::ReserveOutcome reserve(const ipam::Owner& owner, const std::vector<ipam::Claim>& claims,
                                               const base::Deadline& deadline) override;
    std::vector<ipam::Lease> release(const ipam::OwnerKey& key, const base::Deadline& deadline) override;
    std::vector<ipam::Lease> withdraw(const ipam::OwnerKey& key, const std::vector<ipam::Lease>& unused,
                                      const base::Deadline& deadline) override;
    std::vector<ipam::Lease> reclaim(const std::vector<ipam::Lease>& leases, const base::Deadline& deadline) override;
    std::vector<ipam::Lease> adopt(const std::vector<ipam::Lease>& leases, const ipam::Owner& heir,
                                   const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<ipam::Regained> regain(const std::vector<ipam::Lease>& leases,
                                                     const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<ipam::Lease> find(const ipam::OwnerKey& key, const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<ipam::Lease> find_predecessors(const ipam::Owner& owner,
                                                             const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<ipam::Lease> list(const ipam::Claim& claim, const std::optional<base::IpAddress>& after,
                                                std::size_t most, const base::Deadline& deadline) override;
    /// Those of `known_owner`; all if there is no such function. May be as old as what this object last found full.
    [[nodiscard]] std::vector<ipam::Lease> list_local(const ipam::Claim& claim,
                                                      const std::optional<base::IpAddress>& after, std::size_t most,
                                                      const base::Deadline& deadline) override;
    /// Of `places`.
    [[nodiscard]] std::vector<ipam::Lease> list_all(const base::Deadline& deadline) override;
    [[nodiscard]] bool has_free(const ipam::Claim& claim, const base::Deadline& deadline) override;
    [[nodiscard]] ipam::Usage usage(const ipam::Claim& claim, const base::Deadline& deadline) override;

    /// Of the pool's object, as it was last read; empty if it was not.
    [[nodiscard]] std::string known_uid(const Place& place) const;
    /// The same, after a look; empty if there is no such pool.
    [[nodiscard]] std::string find_uid(const Place& place, const base::Deadline& deadline);

    /// Gives back what this machine reserved in an earlier boot. Returns the UID of its Node object, empty if that can't
    /// be had; nullopt if it is too early, or no time is left: then another call must look. Missing rights are a warning.
    [[nodiscard]] std::optional<std::string> give_back_earlier_boot(const base::Deadline& deadline);
    void set_node_uid(const std::string& uid);

    /// Claims of reserve() and adopt() that got no answer. The server may carry them out later.
    [[nodiscard]] const std::vector<ipam::Lease>& unsettled() const;

private:
    std::unique_ptr<PoolsParts> parts_;
};

} // namespace rdmanet::cluster
