#include "leases.hpp"
#include "session.hpp"
#include "values.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/etcd_nodes.hpp>
#include <rdmanet/cluster/etcd_store.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace rdmanet::cluster {
namespace {

using base::Deadline;
using base::quoted;
using etcd::KeyValue;
using etcd::Range;
using etcd::Transaction;
using ipam::Lease;

} // namespace

class EtcdNodes::Impl {
public:
    Impl(etcd::Client client, const std::string& prefix) : session_(std::move(client), prefix), leases_(session_) {}

    std::vector<EtcdNodeState> list(const Deadline& deadline) {
        std::map<std::pair<std::string, std::string>, EtcdNodeState> nodes; // by machine id and name
        const auto at = [&](const std::string& machine_id, const std::string& name) -> EtcdNodeState& {
            EtcdNodeState& node = nodes[{machine_id, name}];
            node.machine_id = machine_id;
            node.name = name;
            return node;
        };
        for (const std::string& key : keys_of_nodes(deadline)) {
            const auto recorded = read_node(key, deadline);
            if (!recorded) continue;
            EtcdNodeState& node = at(key.substr(key.rfind('/') + 1), recorded->first.name);
            node.boot_id = recorded->first.boot_id;
            node.returned_boot_id = recorded->first.returned;
        }
        leases_.for_each_page(deadline, [&](const EtcdLeases::Page& page) {
            for (const StoredLease& stored : page.leases)
                at(stored.machine_id, stored.node_name).leases.push_back(to_lease(stored));
        });
        std::vector<EtcdNodeState> list;
        list.reserve(nodes.size());
        for (auto& [key, node] : nodes) list.push_back(std::move(node));
        return list;
    }

    void release(const std::string& machine_id, const std::string& name,
                 const std::function<void(const Lease&)>& released, const Deadline& deadline) {
        const bool is_its_machine = replace_node(machine_id, deadline, [&](StoredNode& node) {
            if (node.name != name) return false;
            if (!node.boot_id.empty()) node.earlier.insert(node.earlier.begin(), std::exchange(node.boot_id, ""));
            node.returned.clear();
            return true;
        });
        leases_.for_each_page(deadline, [&](EtcdLeases::Page page) {
            std::erase_if(page.leases, [&](const StoredLease& stored) { return !is_of(stored, machine_id, name); });
            for (const StoredLease& gone : leases_.remove(page.leases, deadline).leases) released(to_lease(gone));
        });
        if (is_its_machine) release_unreadable(machine_id, name, released, deadline);
    }

    std::size_t rename(const std::string& machine_id, const std::string& from, const std::string& to,
                       const Deadline& deadline) {
        // The name first: from then on nobody claims an address by the old one.
        (void)replace_node(machine_id, deadline, [&](StoredNode& node) {
            if (node.name != from && node.name != to)
                throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                                       fmt::format("lease store: machine id {} is that of node {} in etcd, not of {}",
                                                   machine_id, quoted(node.name), quoted(from)));
            return std::exchange(node.name, to) != to;
        });
        std::size_t count = 0;
        leases_.for_each_page(deadline, [&](EtcdLeases::Page page) {
            std::erase_if(page.leases, [&](const StoredLease& stored) { return !is_of(stored, machine_id, from); });
            for (StoredLease& stored : page.leases) {
                stored.node_name = to;
                count += rewrite(stored, deadline) ? 1 : 0;
            }
        });
        return count;
    }

private:
    static bool is_of(const StoredLease& stored, const std::string& machine_id, const std::string& name) {
        return stored.machine_id == machine_id && stored.node_name == name;
    }
    static Lease to_lease(const StoredLease& stored) {
        Lease lease = stored.lease;
        lease.owner.other_node = stored.node_name;
        return lease;
    }

    std::vector<std::string> keys_of_nodes(const Deadline& deadline) {
        const std::string any = session_.keys().node("any");
        const std::string before = any.substr(0, any.rfind('/') + 1);
        std::vector<std::string> keys;
        for (const std::string& machine_id : leases_.folders(before, deadline)) keys.push_back(before + machine_id);
        return keys;
    }

    std::optional<std::pair<StoredNode, std::int64_t>> read_node(const std::string& key, const Deadline& deadline) {
        const etcd::Answer answer = session_.run(Transaction().read({.key = key}), deadline);
        if (answer.found[0].entries.empty()) return std::nullopt;
        const KeyValue& entry = answer.found[0].entries.front();
        auto node = parse_stored_node(entry.value);
        if (!node) return std::nullopt;
        return std::pair(*std::move(node), entry.revision);
    }

    /// Writes what `change` makes of it, unless it says false. Returns what it says.
    bool replace_node(const std::string& machine_id, const Deadline& deadline,
                      const std::function<bool(StoredNode&)>& change) {
        const std::string key = session_.keys().node(machine_id);
        for (;;) {
            auto recorded = read_node(key, deadline);
            if (!recorded || !change(recorded->first)) return false;
            const auto written = session_.change(
                Transaction().if_unchanged(key, recorded->second).put(key, to_text(recorded->first)), deadline);
            if (written.succeeded) return true;
        }
    }

    /// What only the keys of the node lead to.
    void release_unreadable(const std::string& machine_id, const std::string& name,
                            const std::function<void(const Lease&)>& released, const Deadline& deadline) {
        session_.for_each_page_below(
            session_.keys().pods(machine_id), deadline, [&](const std::vector<KeyValue>& entries) {
                for (const EtcdLeases::Held& held : leases_.read_held(entries, deadline)) {
                    if (held.lease && !is_of(*held.lease, machine_id, name)) continue;
                    if (leases_.remove_held({held}, deadline) == 0) continue;
                    if (const auto address = EtcdKeys::address_in(held.address->key))
                        released(
                            {.address = base::IpPrefix::make(*address, base::address_bits(address->family())).value()});
                }
            });
    }

    bool rewrite(const StoredLease& stored, const Deadline& deadline) {
        Transaction change;
        change.if_unchanged(session_.keys().address(stored.lease.space, stored.lease.address.address()),
                            stored.revision);
        change.if_unchanged(session_.keys().owner(stored.lease), stored.revision);
        leases_.put(change, stored);
        const EtcdSession::Change done = session_.change(change, deadline);
        return done.succeeded || done.may_have_been_done;
    }

    EtcdSession session_;
    EtcdLeases leases_;
};

EtcdNodes::EtcdNodes(etcd::Client client, const std::string& prefix)
    : impl_(std::make_unique<Impl>(std::move(client), prefix)) {}
EtcdNodes::~EtcdNodes() = default;

std::vector<EtcdNodeState> EtcdNodes::list(const Deadline& deadline) {
    return impl_->list(deadline);
}

void EtcdNodes::release(const std::string& machine_id, const std::string& name,
                        const std::function<void(const Lease&)>& released, const Deadline& deadline) {
    impl_->release(machine_id, name, released, deadline);
}

std::size_t EtcdNodes::rename(const std::string& machine_id, const std::string& from, const std::string& to,
                              const Deadline& deadline) {
    return impl_->rename(machine_id, from, to, deadline);
}

} // namespace rdmanet::cluster
