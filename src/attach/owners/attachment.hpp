// The attachment that a request is about.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

[[nodiscard]] state::AttachmentKey key_of(const cni::Request& request);

/// Throws CniError if the record's file name would be too long. Only ADD calls it: DEL must succeed for an attachment
/// that was never recorded.
void require_storable(const state::AttachmentKey& key, const cni::InputNames& names);

/// The attachment's key, with the node and its journal.
struct Attachment {
    explicit Attachment(const cni::Request& request, const Node& its_node, state::Access access = state::Access::change)
        : node(its_node), key(key_of(request)), records(its_node.records(access)) {}
    Attachment(const Attachment&) = delete;
    Attachment& operator=(const Attachment&) = delete;

    const Node& node;
    state::AttachmentKey key;
    state::AttachmentStore records;
    /// Stale attachments that ADD would reclaim. A dry run cannot reclaim them, so it ignores them.
    std::vector<state::AttachmentKey> disregarded{};
};

[[nodiscard]] state::NetnsIdentity identify(const std::string& path, const kernel::Netns& netns);
/// `inside` is a socket of the namespace, which spares a visit there.
[[nodiscard]] state::NetnsIdentity identify(const std::string& path, const kernel::Netns& netns,
                                            const kernel::Socket& inside);

/// A record of the attachment in phase `prepared`, without steps.
[[nodiscard]] state::AttachmentRecord begin_record(const cni::Request& request, const Node& node,
                                                   state::NetnsIdentity netns);

} // namespace rdmanet::attach
