// Whether the pod of a record or lease still exists.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/ipam/liveness.hpp>
#include <rdmanet/kernel/live_namespaces.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rdmanet::attach {

/// The namespace that `recorded` is about, if `path` leads to it: same inode, and same cookie where both are known.
[[nodiscard]] std::optional<kernel::Netns> find_netns_again(const std::string& path,
                                                            const state::NetnsIdentity& recorded);

/// The namespace of the record, by the record's path or by `netns_path`, if one of them still leads to it.
[[nodiscard]] std::optional<kernel::Netns> find_recorded_netns(const state::AttachmentRecord& record,
                                                               const std::string& netns_path);

/// Where and when a network namespace was seen.
struct NetnsTrace {
    state::NetnsIdentity netns;
    std::uint64_t pid_view = 0; // of whoever wrote it down: kernel::ProcView::id()
    std::string boot_id;
};
[[nodiscard]] NetnsTrace trace_of(const state::AttachmentRecord& record);

/// Whether pods live: the table is in liveness.cpp. /proc is read at most twice for each object of this class, for the
/// dead don't come back.
class PodProbe final : public ipam::LivenessProbe {
public:
    explicit PodProbe(const Node& node) : node_(node) {}

    [[nodiscard]] ipam::Verdict probe(const NetnsTrace& trace);
    [[nodiscard]] ipam::Verdict probe(const ipam::Owner& owner) override;

private:
    enum class Found : std::uint8_t { yes, without_path, no, number_of_another };
    [[nodiscard]] Found search(const state::NetnsIdentity& netns);
    [[nodiscard]] std::string why_not_seen(const NetnsTrace& trace) const;

    const Node& node_;
    std::optional<kernel::LiveNetns> living_;
};

} // namespace rdmanet::attach
