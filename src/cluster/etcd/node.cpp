#include "node.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace rdmanet::cluster {
namespace {

using base::quoted;
using etcd::Answer;
using etcd::KeyValue;
using etcd::Transaction;

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
    throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                           fmt::format("lease store: {}", fmt::format(text, std::forward<Args>(args)...)));
}

} // namespace

EtcdNode::EtcdNode(EtcdSession& session, EtcdLeases& leases, const EtcdOptions& options)
    : session_(session), leases_(leases), options_(options) {
    std::string node = fmt::format("{} {} {}", options_.machine_id, options_.node_name, options_.boot_id);
    if (session_.memory().node == node) return;
    session_.memory().node = std::move(node);
    forget_revision();
}

std::int64_t EtcdNode::revision(const base::Deadline& deadline) {
    std::int64_t& known = session_.memory().node_revision;
    while (known == 0) known = register_node(deadline).value_or(0);
    return known;
}

/// nullopt: the key has just changed.
std::optional<std::int64_t> EtcdNode::register_node(const base::Deadline& deadline) {
    const Answer answer = session_.run(Transaction().read({.key = key()}), deadline);
    if (answer.found[0].entries.empty()) {
        give_back_earlier_boots(deadline); // somebody may have removed the key
        const StoredNode present{.name = options_.node_name, .boot_id = options_.boot_id};
        const auto done = session_.change(Transaction().if_absent(key()).put(key(), to_text(present)), deadline);
        return done.succeeded ? std::optional(done.revision) : std::nullopt;
    }
    const KeyValue& entry = answer.found[0].entries.front();
    const auto recorded = parse_stored_node(entry.value);
    if (!recorded)
        refuse("key {} does not have a node: find out who wrote it, then run `etcdctl del` with it", quoted(key()));
    if (recorded->name != options_.node_name)
        refuse("machine id {} is that of node {} in etcd, and this is node {}: give each machine a machine id of its "
               "own (/etc/machine-id); if node {} has been renamed, run `rdmanet ipam rename-node {} {}`",
               options_.machine_id, quoted(recorded->name), quoted(options_.node_name), quoted(recorded->name),
               recorded->name, options_.node_name);
    if (recorded->boot_id == options_.boot_id) return entry.revision;
    require_one_machine(*recorded, entry.revision, deadline);
    return replace_boot(*recorded, entry.revision, deadline);
}

/// A machine that starts anew has another boot id, so none comes back. Nothing tells a machine's next boot from another
/// machine that is a copy of it. So once a boot has come back, what is in etcd stays until a person says whose it is.
void EtcdNode::require_one_machine(const StoredNode& recorded, std::int64_t revision, const base::Deadline& deadline) {
    const bool has_returned =
        std::find(recorded.earlier.begin(), recorded.earlier.end(), options_.boot_id) != recorded.earlier.end();
    if (has_returned && recorded.boot_id.empty())
        refuse("boot {} of node {} was released with `rdmanet ipam release --node`, and other pods may have its "
               "addresses: delete this node's pods, then restart it",
               options_.boot_id, quoted(options_.node_name));
    if (has_returned && recorded.returned.empty()) {
        StoredNode marked = recorded;
        marked.returned = options_.boot_id;
        (void)session_.change(Transaction().if_unchanged(key(), revision).put(key(), to_text(marked)), deadline);
    }
    if (has_returned || !recorded.returned.empty())
        refuse("two machines have machine id {} and the name {}: boot {} took the place of boot {}, which came back; "
               "this is boot {}: give each machine a machine id of its own (/etc/machine-id), then run `rdmanet ipam "
               "release --node {}`",
               options_.machine_id, quoted(options_.node_name), recorded.boot_id,
               has_returned ? options_.boot_id : recorded.returned, options_.boot_id, options_.node_name);
}

/// nullopt: the key has just changed.
std::optional<std::int64_t> EtcdNode::replace_boot(const StoredNode& recorded, std::int64_t revision,
                                                   const base::Deadline& deadline) {
    // What the boot before has sent may still be on its way. After this it has no effect.
    const auto fenced =
        session_.change(Transaction().if_unchanged(key(), revision).put(key(), to_text(recorded)), deadline);
    if (!fenced.succeeded) return std::nullopt;
    give_back_earlier_boots(deadline);
    StoredNode present{.name = options_.node_name, .boot_id = options_.boot_id, .earlier = recorded.earlier};
    if (!recorded.boot_id.empty()) present.earlier.insert(present.earlier.begin(), recorded.boot_id);
    const auto done =
        session_.change(Transaction().if_unchanged(key(), fenced.revision).put(key(), to_text(present)), deadline);
    return done.succeeded ? std::optional(done.revision) : std::nullopt;
}

/// What pods had before the node was started anew: they are gone, and nobody else knows. When this returns, all of it
/// is free.
void EtcdNode::give_back_earlier_boots(const base::Deadline& deadline) {
    std::size_t count = 0;
    session_.for_each_page_below(
        session_.keys().pods(options_.machine_id), deadline, [&](const std::vector<KeyValue>& entries) {
            std::vector<EtcdLeases::Held> held = leases_.read_held(entries, deadline);
            std::erase_if(held, [&](const EtcdLeases::Held& one) {
                return one.place.boot_id == options_.boot_id || (one.lease && !has(*one.lease));
            });
            count += leases_.remove_held(held, deadline);
        });
    if (count > 0 && options_.warn)
        options_.warn(fmt::format("the node was started anew: {} of pods before that went back to etcd",
                                  base::counted(count, "address", "addresses")));
}

bool EtcdNode::fence(const base::Deadline& deadline) {
    const Answer answer = session_.run(Transaction().read({.key = key()}), deadline);
    if (answer.found[0].entries.empty()) return false;
    const KeyValue& entry = answer.found[0].entries.front();
    const auto done =
        session_.change(Transaction().if_unchanged(key(), entry.revision).put(key(), entry.value), deadline);
    // If it did not succeed, somebody else has written the key since it was read, which is as good.
    session_.memory().node_revision = done.succeeded ? done.revision : 0;
    session_.memory().save();
    return true;
}

std::optional<Answer> EtcdNode::claim(const Transaction& change, const base::Deadline& deadline) {
    auto answer = session_.try_to_change(change, deadline);
    if (!answer) (void)fence(deadline);
    return answer;
}

} // namespace rdmanet::cluster
