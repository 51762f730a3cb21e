// One call of a runtime or a person, and the attachment that it is about.
#pragma once

#include "pod_side.hpp"

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/leases/leases.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// The kernel destroys a namespace, and returns its devices, some time after its last user has gone. The worker waits
/// for RCU and destroys many namespaces at once (cleanup_net(), net/core/net_namespace.c).
inline constexpr std::chrono::seconds kReturnTimeout{15};

/// What an operation needs. It is made once, by the operation at its beginning, and then only read. What a step
/// learns for a later one is in Progress.
struct Call {
    /// Of a person, or about all attachments.
    Call(const Node& its_node, base::Deadline until, state::Access access = state::Access::change,
         const base::Logger* its_log = nullptr);
    /// About one attachment. The messages go to `its_log`, if it is given, and not to the node's log.
    Call(const Node& its_node, base::Deadline until, const cni::Request& its_request,
         state::Access access = state::Access::change, const base::Logger* its_log = nullptr);

    /// For undoing something within another time. The time in which the kernel may return devices begins.
    [[nodiscard]] Call to_undo(base::Deadline until) const;
    /// The same for another attachment, which the request is not about.
    [[nodiscard]] Call to_undo_another(base::Deadline until) const;

    [[nodiscard]] bool is_del() const { return request != nullptr && request->command == cni::Command::del; }
    /// CNI_NETNS. Empty without a request.
    [[nodiscard]] std::string netns_path() const { return request == nullptr ? std::string() : request->netns_path; }

private:
    struct State;
    std::shared_ptr<State> state_; // of the journal and the leases; copies share it

public:
    const Node& node;
    const base::Logger& log;
    base::Deadline deadline;
    /// How long to wait for the kernel to return devices, for all devices of one call together.
    base::Deadline returned_by;
    const cni::Request* request = nullptr;
    const config::Config* config = nullptr; // null for operations that do not rely on it (DEL, GC)
    state::AttachmentKey key{};             // empty unless the request is about one attachment
    const state::AttachmentStore& records;
    leases::Leases& leases;
    PodSide* pod = nullptr;         // null: there is no pod yet (STATUS), or what is undone is found by its record
    kernel::Socket* host = nullptr; // routing socket of the host's namespace, for what plans or applies steps
    /// Stale attachments that ADD would reclaim. A dry run cannot reclaim them, so it ignores them.
    std::vector<state::AttachmentKey> disregarded{};
};

[[nodiscard]] state::AttachmentKey key_of(const cni::Request& request);

/// Throws CniError if the record's file name would be too long. Only ADD calls it: DEL must succeed for an attachment
/// that was never recorded.
void require_storable(const state::AttachmentKey& key, const cni::InputNames& names);

/// `inside` is a socket of the namespace.
[[nodiscard]] state::NetnsIdentity identify(const std::string& path, const kernel::Netns& netns,
                                            const kernel::Socket& inside);
[[nodiscard]] state::NetnsIdentity identify(const std::string& path, const kernel::Netns& netns);

/// A record of the attachment in phase `prepared`, without steps.
[[nodiscard]] state::AttachmentRecord begin_record(const Call& call, state::NetnsIdentity netns);

} // namespace rdmanet::attach
