// The addresses of one attachment being taken: one transaction, and others where it meets somebody.
#pragma once

#include "parts.hpp"
#include "ranges.hpp"

#include <rdmanet/ipam/store.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

namespace rdmanet::cluster {

class EtcdTaking {
public:
    enum class Pod : std::uint8_t { must_be_new, may_have_predecessors };
    /// Only of a pod that must be new: it is not.
    struct NotNew {};
    using Outcome = std::variant<ipam::Granted, ipam::Taken, ipam::Exhausted, NotNew>;

    EtcdTaking(EtcdParts& parts, const ipam::Owner& owner, const std::vector<ipam::Claim>& claims, Pod pod)
        : parts_(parts), owner_(owner), claims_(claims), pod_(pod), candidates_(claims.size()), ranges_(parts.keys()) {}

    [[nodiscard]] Outcome take(const base::Deadline& deadline);

private:
    // nullopt: try again, with what was learned.
    [[nodiscard]] std::optional<Outcome> try_to_take(const base::Deadline& deadline);
    [[nodiscard]] std::optional<Outcome> learn(const etcd::Answer& answer, std::int64_t revision,
                                               const base::Deadline& deadline);
    [[nodiscard]] std::optional<Outcome> choose_candidates(const base::Deadline& deadline);

    void add_slot(std::size_t slot, etcd::Transaction& change, ipam::Granted& granted) const;
    void else_read(etcd::Transaction& change) const;
    void hold(const std::vector<StoredLease>& own);
    void remove_broken(const base::Deadline& deadline);
    [[nodiscard]] std::optional<base::IpAddress> find_free_for(std::size_t slot, const base::Deadline& deadline);

    [[nodiscard]] std::string describe_held_in(const std::string& space, const base::Deadline& deadline);

    [[nodiscard]] bool wants(std::size_t slot) const { return !held_.contains(slot); }
    [[nodiscard]] bool must_look_for_predecessors() const;
    [[nodiscard]] bool has_other_than_sent() const;
    [[nodiscard]] std::set<std::string> spaces() const;
    [[nodiscard]] std::set<std::string> spaces_of_claims() const;
    [[nodiscard]] std::vector<const ipam::Claim*> wanted() const;
    [[nodiscard]] std::set<base::IpAddress> others(std::size_t slot) const;

    EtcdParts& parts_;
    const ipam::Owner& owner_;
    const std::vector<ipam::Claim>& claims_;
    Pod pod_;
    std::map<std::size_t, StoredLease> held_;                // by slot
    bool knows_held_ = false;                                // else it is assumed to be empty
    std::vector<std::optional<base::IpAddress>> candidates_; // of the slots that hold nothing
    EtcdRanges ranges_;
    std::set<std::size_t> sent_; // slots for which a claim without an answer may have had effect
};

} // namespace rdmanet::cluster
