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

/// Where and when a network namespace was seen.
struct NetnsTrace {
    state::NetnsIdentity netns;
    std::uint64_t pid_namespace_inode = 0;
    std::string boot_id;
};
[[nodiscard]] NetnsTrace trace_of(const state::AttachmentRecord& record);

/// Dead: another boot; or neither the path nor any process or mount leads to the namespace, looked at through the same
/// /proc as when it was written down. A container with a PID namespace of its own can prove nothing about its host.
/// /proc is read at most once for each object of this class: the dead don't come back.
class Undertaker final : public ipam::LivenessProbe {
public:
    explicit Undertaker(const Node& node) : node_(node) {}

    [[nodiscard]] ipam::Verdict probe(const NetnsTrace& trace);
    [[nodiscard]] ipam::Verdict probe(const ipam::Owner& owner) override;

private:
    [[nodiscard]] bool is_used_by_anyone(const state::NetnsIdentity& netns);

    const Node& node_;
    std::optional<kernel::LiveNetns> living_;
};

} // namespace rdmanet::attach
