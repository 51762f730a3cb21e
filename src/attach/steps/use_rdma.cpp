// What a pod's interface needs for RDMA: a shared device on the host, an active port, GIDs of its addresses.
#include "device_port.hpp"
#include "kinds.hpp"
#include "step.hpp"

#include "lookup/chained_addresses.hpp"
#include "lookup/ipoib.hpp"
#include "lookup/port_state.hpp"
#include "lookup/rdma_devices.hpp"
#include "lookup/shared_rdma.hpp"
#include "owners/claims.hpp"
#include "owners/gid_holders.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/store/lease_file.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

using base::quoted;
using kernel::Link;

/// At least one, because another IPAM plugin gives an unknown number.
std::size_t expected_addresses(const cni::Request& request, const config::Config& config) {
    if (const auto* own = std::get_if<ipam::Config>(&config.ipam)) return own->ranges.size() + own->addresses.size();
    return std::max<std::size_t>(1, chained_addresses(request, config).ips.size());
}

/// The RDMA port on the host that all children of the parent share. None for an IPoIB parent, whose children have no
/// GIDs of their own. Throws CniError if RDMA is required but not available, or if the policy refuses the port's
/// state.
std::optional<kernel::RdmaPort> find_rdma_of_parent(const Link& parent, const Call& call) {
    if (call.config->is_ipoib()) {
        require_rdma_of_ipoib(call.config->rdma, parent, call.request->conf.name, call.deadline);
        require_active_port_of_ipoib(call.config->rdma, parent, call.log, call.deadline);
        return std::nullopt;
    }
    auto port = find_rdma(call.config->rdma, parent, call.request->conf.name, call.log, call.deadline);
    if (port) require_active_port(call.config->rdma, *port, parent.name, call.log);
    return port;
}

/// Throws CniError, or logs, as the policy says, if the GID table that the parent's children share has no room for the
/// addresses that the configuration gives, or they are more than it lets one have. Another IPAM plugin gives at least
/// one.
void require_gids(const Link& parent, const kernel::RdmaPort& port, const Call& call) {
    const std::size_t addresses = expected_addresses(*call.request, *call.config);
    require_gid_share(call.config->rdma, port, addresses);
    GidHolders holders; // STATUS, which comes twice a second, does not name them
    if (call.pod != nullptr) holders = [&] { return describe_gid_holders(port, call.records, call.deadline); };
    require_gid_room(call.config->rdma, port, parent.name, addresses, holders, call.log);
}

/// For an RDMA device on the host that pods share, or for none.
class ShareRdma final : public Step {
public:
    ShareRdma(std::optional<kernel::RdmaPort> port, bool is_worth_a_line)
        : port_(std::move(port)), is_worth_a_line_(is_worth_a_line) {}

    [[nodiscard]] std::string rdma_device() const override { return port_ ? port_->link_name() : std::string(); }

    void describe(const Call& /*call*/, Description& description) const override {
        if (port_)
            description.add.push_back(fmt::format("share {}, which stays on the host", *port_));
        else if (is_worth_a_line_)
            description.add.emplace_back("give it no RDMA device");
    }

    /// A driver that was bound again has created another RDMA device.
    [[nodiscard]] bool learn(const Call& /*call*/, const Progress& progress) override {
        if (!port_ || !progress.made_rdma || has_learned_) return false;
        port_->device_index = progress.made_rdma->front().index;
        port_->device = progress.made_rdma->front().name;
        return has_learned_ = true;
    }

    void apply(const Call& /*call*/, Progress& progress) override {
        if (port_) progress.rdma_device = port_->device;
        progress.shared_port = port_;
    }

private:
    std::optional<kernel::RdmaPort> port_;
    bool is_worth_a_line_;
    bool has_learned_ = false;
};

std::vector<base::IpAddress> addresses_of(const cni::Result& result) {
    std::vector<base::IpAddress> addresses;
    for (const cni::IpConfig& ip : result.ips) addresses.push_back(ip.address.address());
    return addresses;
}

/// For an RDMA device on the host that pods share.
void wait_for_shared_gids(const Call& call, const Progress& progress) {
    const kernel::RdmaPort& port = *progress.shared_port;
    const auto holders = [&] { return describe_gid_holders(port, call.records, call.deadline); };
    wait_for_gids(call.config->rdma, port, progress.link->name, addresses_of(progress.own), call.log, holders);
}

/// Waits for GIDs on the parent's port.
class AwaitSharedRdma final : public Step {
public:
    void apply(const Call& call, Progress& progress) override { wait_for_shared_gids(call, progress); }
};

/// Waits for the port and GIDs of a device's own RDMA devices, in the pod or on the host.
class AwaitDeviceRdma final : public Step {
public:
    explicit AwaitDeviceRdma(const FoundDevice& device)
        : address_(device.address), awaits_port_(device.awaits_port), is_infiniband_(device.is_infiniband()) {}

    void apply(const Call& call, Progress& progress) override {
        const config::RdmaPolicy& policy = call.config->rdma;
        std::optional<kernel::RdmaPort> port;
        if (awaits_port_)
            port = require_active_port_in_pod(devices(call, progress), policy, *call.pod, *progress.link, call.log,
                                              call.deadline);
        if (is_infiniband_) return; // on InfiniBand, GIDs do not come from addresses
        if (progress.shared_port) wait_for_shared_gids(call, progress);
        wait_for_gids_in_pod(policy, progress.moved_rdma, std::move(port), *call.pod, *progress.link,
                             addresses_of(progress.own), call.log, call.deadline);
    }

private:
    /// The RDMA devices that moved into the pod, or else those on the host.
    [[nodiscard]] RdmaDevices devices(const Call& call, const Progress& progress) const {
        if (!progress.moved_rdma.empty()) return progress.moved_rdma;
        auto outside = kernel::Socket::find_rdma(call.deadline);
        return outside ? find_rdma_devices(address_, *outside) : RdmaDevices{};
    }

    base::BusAddress address_;
    bool awaits_port_;
    bool is_infiniband_;
};

/// A pod may have added addresses, which take entries that other pods need.
void check_gid_share(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, const Link& link,
                     const std::vector<kernel::Address>& present) {
    if (!policy.most_gids) return;
    std::vector<base::IpAddress> addresses;
    addresses.reserve(present.size());
    for (const kernel::Address& address : present) addresses.push_back(address.prefix.address());
    const std::size_t taken = kernel::find_gids(port, addresses, link.name).entries.size();
    if (taken > *policy.most_gids)
        differs(
            fmt::format("interface {} has {} entries of the GID table of {}, expected at most {} (\"rdma.maxGids\")",
                        quoted(link.name), taken, port, *policy.most_gids),
            "remove addresses from it");
}

/// Whether ADD waited until all GIDs existed. If it did not, CHECK may come before the kernel has added them.
bool had_gids(const config::RdmaPolicy& policy) {
    return policy.wait_for_gids && policy.on_missing_gid != config::OnMissingGid::warn;
}

/// Checks the RDMA port of a child's parent.
void check_shared_rdma(const Comparison& compared, const Link& link) {
    const state::Child* const child = compared.record.child();
    if (compared.record.rdma_device.empty() || child == nullptr || child->parent_in_pod) return;
    kernel::Socket outside = kernel::Socket::open(kernel::Protocol::route, compared.call.deadline);
    const auto parent = kernel::find_link(outside, child->parent_ifindex);
    if (!parent) differs(fmt::format("parent {} is gone", quoted(child->parent)), kBringBackParent);
    auto rdma = kernel::Socket::find_rdma(compared.call.deadline);
    const auto port = rdma ? kernel::find_rdma_port(*rdma, *parent) : std::nullopt;
    if (!port)
        differs(fmt::format("RDMA device {} of parent {} is gone", compared.record.rdma_device, quoted(parent->name)),
                kLoadRdmaDriver);
    check_port(compared.wanted.rdma, *port, parent->name);
    check_gid_share(compared.wanted.rdma, *port, link, compared.addresses);
    if (!had_gids(compared.wanted.rdma)) return;
    const auto missing = missing_gids(*port, link.name, compared.expected.addresses());
    if (!missing.empty()) differs(fmt::format("{} has no GID of {}", *port, missing.front()), kDeletePod);
}

void check_gids(const Comparison& compared, const Link& link) {
    const state::AttachmentRecord& record = compared.record;
    const std::vector<base::IpAddress> addresses = compared.expected.addresses();
    if (!had_gids(compared.wanted.rdma)) return;
    if (record.rdma_device.empty() || addresses.empty() || link.port_guid()) return;
    const RdmaDevices moved = moved_devices(record);
    const auto missing = moved.empty()
                             ? missing_gids(recorded_port(record), link.name, addresses)
                             : missing_gids_in_pod(moved, compared.netns, link, addresses, compared.call.deadline);
    if (!missing.empty())
        differs(fmt::format("RDMA device {} has no GID of {}", record.rdma_device, missing.front()), kDeletePod);
}

std::optional<kernel::RdmaPort> find_shared_port(const state::AttachmentRecord& record,
                                                 const base::Deadline& deadline) {
    const kernel::RdmaPort wanted = recorded_port(record);
    auto outside = kernel::Socket::find_rdma(deadline);
    const auto device = outside ? kernel::find_rdma_device(*outside, wanted.device) : std::nullopt;
    if (!device) return std::nullopt;
    for (kernel::RdmaPort& port : kernel::list_rdma_ports(*outside, *device))
        if (port.port == wanted.port) return std::move(port);
    return std::nullopt;
}

/// The link of a whole function goes down when it moves, and comes back some seconds later. ADD does not wait for it,
/// and CRI-O sends CHECK at once.
bool may_be_coming_up(const state::AttachmentRecord& record) {
    constexpr std::int64_t kSeconds{30};
    return record.attach == "host-device" && ipam::system_time().boot - record.created_since_boot < kSeconds;
}

/// Checks the port of the pod's interface. The RDMA device may be in the pod or on the host.
void check_port_of_device(const Comparison& compared, const Link& link) {
    const state::AttachmentRecord& record = compared.record;
    const config::RdmaPolicy& policy = compared.wanted.rdma;
    if (policy.on_inactive_port != config::OnInactivePort::refuse || record.rdma_device.empty()) return;
    if (may_be_coming_up(record)) return;
    const RdmaDevices moved = moved_devices(record);
    auto inside = moved.empty() ? std::nullopt : kernel::Socket::find_rdma_in(compared.netns, compared.call.deadline);
    const auto port =
        inside ? find_port_of(*inside, moved, link, &compared.netns) : find_shared_port(record, compared.call.deadline);
    if (port) check_port(policy, *port, link.name);
}

/// Checks the port's own GUID. It may differ from the PF's setting, because a driver takes a GUID only when it is
/// bound.
void check_guid(const std::optional<base::Guid>& wanted, const kernel::Link& link) {
    const auto present = link.port_guid();
    if (wanted && present && *wanted != *present)
        differs(fmt::format("interface {} has GUID {}, expected {}", quoted(link.name), *present, *wanted),
                "delete the pod, because the VF's driver takes a GUID only when it is bound");
}

} // namespace

void ShareRdmaKind::find(const Call& call, Findings& found) {
    if (!found.parent || call.config->link_in_container) return;
    FoundParent& parent = *found.parent;
    parent.rdma = find_rdma_of_parent(parent.parent, call);
    if (parent.rdma) require_gids(parent.parent, *parent.rdma, call);
}

/// An earlier plugin's interface is found by its name in the pod.
void AwaitRdmaKind::find(const Call& call, Findings& found) {
    if (!found.device || (call.pod == nullptr && !found.device->link)) return;
    const std::string ifname = call.pod != nullptr ? call.request->ifname().to_string() : std::string();
    require_active_port_before(*found.device, *call.config, ifname, call.log, call.deadline);
}

std::unique_ptr<Step> ShareRdmaKind::make(const Call& call, const Findings& found) {
    const bool moves = found.device && !found.device->selection.moving.empty();
    return std::make_unique<ShareRdma>(found.shared_port(), !moves && !call.config->is_ipoib());
}

std::unique_ptr<Step> AwaitRdmaKind::make(const Call& /*call*/, const Findings& found) {
    if (found.device && found.device->link) return std::make_unique<AwaitDeviceRdma>(*found.device);
    if (found.parent && found.parent->rdma) return std::make_unique<AwaitSharedRdma>();
    return nullptr;
}

void AwaitRdmaKind::check(const Comparison& compared) {
    if (!has_netdev(compared.record)) return;
    const Link& link = require_link(compared);
    check_shared_rdma(compared, link);
    if (!compared.wanted.is_device()) return;
    check_guid(compared.wanted.vf.port_guid, link);
    check_gids(compared, link);
    check_port_of_device(compared, link);
}

} // namespace rdmanet::attach
