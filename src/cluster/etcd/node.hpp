// This node's key: the fence of its claims, and the proof that one machine has it.
#pragma once

#include "leases.hpp"
#include "session.hpp"
#include "values.hpp"

#include <rdmanet/cluster/etcd_store.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rdmanet::cluster {

class EtcdNode {
public:
    EtcdNode(EtcdSession& session, EtcdLeases& leases, const EtcdOptions& options);

    [[nodiscard]] std::string key() const { return session_.keys().node(options_.machine_id); }
    [[nodiscard]] bool has(const StoredLease& stored) const {
        return stored.machine_id == options_.machine_id && stored.node_name == options_.node_name;
    }

    /// The revision of this node's key, which every claim tests. As a rule an earlier call has found it out. At the
    /// first call of a boot, what pods had before goes back. Throws StoreError if another machine has the key.
    [[nodiscard]] std::int64_t revision(const base::Deadline& deadline);
    /// The key may have changed.
    void forget_revision() { session_.memory().node_revision = 0; }

    /// After it, no claim of this node can take effect that was sent before. False if there can be none: without the
    /// node's key every claim fails.
    bool fence(const base::Deadline& deadline);

    /// nullopt if no answer says whether the claim was done. By then it has had effect, or never will.
    [[nodiscard]] std::optional<etcd::Answer> claim(const etcd::Transaction& change, const base::Deadline& deadline);

private:
    [[nodiscard]] std::optional<std::int64_t> register_node(const base::Deadline& deadline);
    [[nodiscard]] std::optional<std::int64_t> replace_boot(const StoredNode& recorded, std::int64_t revision,
                                                           const base::Deadline& deadline);
    void require_one_machine(const StoredNode& recorded, std::int64_t revision, const base::Deadline& deadline);
    void give_back_earlier_boots(const base::Deadline& deadline);

    EtcdSession& session_;
    EtcdLeases& leases_;
    const EtcdOptions& options_;
};

} // namespace rdmanet::cluster
