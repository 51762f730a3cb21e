// The attachment that a request is about.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

[[nodiscard]] state::AttachmentKey key_of(const cni::Request& request);

/// Throws CniError if the journal can't have a file of that name. Only for ADD: what was never stored has no DEL that
/// could fail for it.
void require_storable(const state::AttachmentKey& key);

/// The node, the attachment's name and the journal.
struct Attachment {
    explicit Attachment(const cni::Request& request, const Node& its_node, state::Access access = state::Access::change)
        : node(its_node), key(key_of(request)), records(its_node.state_directory, access) {}
    Attachment(const Attachment&) = delete;
    Attachment& operator=(const Attachment&) = delete;

    const Node& node;
    state::AttachmentKey key;
    state::AttachmentStore records;
    /// Attachments that a dry run takes for reclaimed: ADD undoes what they have left, and a dry run can't.
    std::vector<state::AttachmentKey> disregarded{};
};

[[nodiscard]] state::NetnsIdentity identify(const std::string& path, const kernel::Netns& netns);

/// A record of the attachment in phase `prepared`, without steps.
[[nodiscard]] state::AttachmentRecord begin_record(const cni::Request& request, const Node& node,
                                                   const kernel::Netns& netns);

/// The attachment, its pod and its addresses.
[[nodiscard]] std::string describe(const state::AttachmentRecord& record);

} // namespace rdmanet::attach
