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

/// The recorded namespace if it is at `path`: it has the recorded inode and, if one was recorded, the cookie.
[[nodiscard]] std::optional<kernel::Netns> find_netns_again(const std::string& path,
                                                            const state::NetnsIdentity& recorded);

/// The record's namespace if it is at the record's path or at `netns_path`.
[[nodiscard]] std::optional<kernel::Netns> find_recorded_netns(const state::AttachmentRecord& record,
                                                               const std::string& netns_path);

/// What identifies a pod: its network namespace, and when and from where that was recorded.
struct PodIdentity {
    state::NetnsIdentity netns;
    std::uint64_t pid_view = 0; // the recorder's kernel::ProcView::id()
    std::string boot_id;
};
[[nodiscard]] PodIdentity pod_of(const state::AttachmentRecord& record);

/// Decides whether pods live, by the table in liveness.cpp. Each object reads /proc at most twice, because a dead pod
/// stays dead.
class PodProbe final : public ipam::LivenessProbe {
public:
    explicit PodProbe(const Node& node) : node_(node) {}

    [[nodiscard]] ipam::Verdict probe(const PodIdentity& pod);
    [[nodiscard]] ipam::Verdict probe(const ipam::Owner& owner) override;

private:
    enum class Found : std::uint8_t { yes, without_path, no, inode_reused };
    [[nodiscard]] Found search(const state::NetnsIdentity& netns);
    [[nodiscard]] std::string why_not_seen(const PodIdentity& pod) const;

    const Node& node_;
    std::optional<kernel::LiveNetns> living_;
};

} // namespace rdmanet::attach
