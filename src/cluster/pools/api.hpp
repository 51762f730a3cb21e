// The requests that whereabouts' objects need, each of which names the whole of what it expects to find.
#pragma once

#include "../requests.hpp"
#include "pool.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/place.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/kube/api.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::cluster {

/// "NAMESPACE/NAME"
[[nodiscard]] std::string podref_of(const ipam::Owner& owner);

using Written = WriteOutcome::Done;

struct Reservation {
    std::string uid;
    std::string version; // changes with everything in it
    std::string podref;
    std::string ifname;
    // Of those that rdmanet has made. whereabouts writes none of it.
    std::optional<std::string> container_id;
    ThisNode maker{};
    std::optional<Place> place{}; // of the pool that has given the address
    std::optional<base::IpAddress> address{};
};

/// Throws json::ValueError.
[[nodiscard]] Reservation parse_reservation(const json::Reader& object);

/// Throws ipam::StoreError for what the server refuses, and for a server that does not answer a read.
class WhereaboutsApi {
public:
    WhereaboutsApi(kube::Api& api, std::string name_space, ThisNode node = {});

    [[nodiscard]] const ThisNode& node() const { return node_; }
    /// What the server said of the last write that it did not do.
    [[nodiscard]] const std::string& last_refusal() const { return last_refusal_; }
    /// What was said of the last write whose outcome is not known. Empty: there was none.
    [[nodiscard]] const std::string& last_unknown() const { return last_unknown_; }
    void set_node_uid(const std::string& uid) { node_.uid = uid; }

    [[nodiscard]] std::optional<Pool> find_pool(const Place& place, const base::Deadline& deadline);
    /// Of the object, as it was last read; empty if it was not.
    [[nodiscard]] std::string known_uid(const Place& place) const;
    /// The pool, which is made if it is absent.
    [[nodiscard]] Pool get_pool(const Place& place, const base::Deadline& deadline);

    /// Whether a record would have its interface when it is read again. Nothing is written.
    [[nodiscard]] bool keeps_interfaces(const base::Deadline& deadline);

    /// `no` also if another store has the pool's addresses by now.
    [[nodiscard]] Written take(const Place& place, const Pool& pool, const std::string& key, const ipam::Owner& owner,
                               const base::Deadline& deadline);
    [[nodiscard]] Written give_back(const Place& place, const PoolRecord& record, const base::Deadline& deadline);
    /// All of them, or none.
    [[nodiscard]] Written give_back(const std::string& pool, const std::vector<const PoolRecord*>& records,
                                    const base::Deadline& deadline);
    [[nodiscard]] Written hand_over(const Place& place, const PoolRecord& record, const ipam::Owner& heir,
                                    const base::Deadline& deadline);

    /// The record that the owner has just got at `from` is at `to` from now on.
    [[nodiscard]] Written move(const Place& place, const Pool& pool, const std::string& from, const std::string& to,
                               const ipam::Owner& owner, const base::Deadline& deadline);

    [[nodiscard]] std::optional<Reservation> find_reservation(const std::string& name, const base::Deadline& deadline);
    /// Those that the node of this label has made, by name. From the server's memory: whatever is done with one tests its
    /// version.
    [[nodiscard]] std::vector<std::pair<std::string, Reservation>> recall_reservations(const std::string& node_label,
                                                                                       const base::Deadline& deadline);
    /// All of them by name, each with its container if rdmanet has made it. From memory.
    [[nodiscard]] std::map<std::string, std::string> recall_reserved(const base::Deadline& deadline);
    /// `no`: there is one of that name.
    [[nodiscard]] Written reserve(const Place& place, const base::IpAddress& address, const ipam::Owner& owner,
                                  const base::Deadline& deadline);
    /// As whereabouts does it, which says no more than pod and interface.
    [[nodiscard]] Written reserve(const std::string& name, const std::string& podref, const std::string& ifname,
                                  const base::Deadline& deadline);
    /// `no`: it is gone, or has changed since it was read.
    [[nodiscard]] Written unreserve(const std::string& name, const Reservation& reservation,
                                    const base::Deadline& deadline);
    [[nodiscard]] Written hand_over(const std::string& name, const Reservation& reservation, const ipam::Owner& heir,
                                    const base::Deadline& deadline);

private:
    enum class Kind : std::uint8_t { pool, reservation };
    [[nodiscard]] std::string path_of(Kind kind, const std::string& name = {}) const;
    [[nodiscard]] Written patch_pool(const std::string& pool, Changes changes, const base::Deadline& deadline);
    [[nodiscard]] Written became(const WriteOutcome& outcome);

    Requests requests_;
    std::string name_space_;
    ThisNode node_;
    std::map<std::string, std::string> uids_; // by name
    std::string last_refusal_;
    std::string last_unknown_;
};

} // namespace rdmanet::cluster
