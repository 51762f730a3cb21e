// What a pod's interface needs for RDMA: a shared device on the host, an active port, GIDs of its addresses.
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
using kernel::RdmaPort;
using kernel::Socket;

/// Whether the VF's own port can become active. An Ethernet PF that is down does not tell: some PFs keep their link
/// for the VFs.
bool may_become_active(const FoundDevice& device, const Call& call, Socket& rdma) {
    const config::Config& config = *call.config;
    const FoundVf& vf = *device.vf;
    using State = kernel::VfLinkState;
    if (std::get<config::Sriov>(config.attach).settings.link_state == State::disable) return false; // as configured
    const State state = vf.changes.link_state.value_or(vf.before.link_state.value_or(State::automatic));
    if (state == State::disable) {
        refuse_or_warn_of_port(config.rdma,
                               fmt::format("{} has link state disable, so its RDMA port cannot become active: set "
                                           "\"link_state\" to \"auto\", or run `ip link set {} vf {} state auto`",
                                           vf.id, vf.id.pf, vf.id.number),
                               call.log);
        return false;
    }
    if (state == State::enable) return true;
    if (!vf.pf.is_up() && !vf.pf.is_infiniband()) return true;
    const auto port = vf.pf.is_infiniband() ? find_port_of_ipoib(rdma, vf.pf)
                                            : kernel::find_rdma_port(rdma, vf.pf, device.rdma_on_host);
    if (port) require_active_port(config.rdma, *port, vf.pf.name, call.log);
    return !port || port->is_active();
}

/// The check before anything is changed, for a device that moves with RDMA. Sets FoundDevice::awaits_port if the port
/// must be checked again in the pod. `ifname` is the interface's name in the pod.
void require_active_port_before(FoundDevice& device, const Call& call) {
    const config::Config& config = *call.config;
    const bool has_rdma = device.rdma || !device.selection.moving.empty();
    auto rdma = has_rdma ? Socket::find_rdma(call.deadline) : std::nullopt;
    if (!rdma) return;
    if (device.vf) {
        device.awaits_port = may_become_active(device, call, *rdma);
        return;
    }
    const Link link = device.link.value_or(Link{});
    const RdmaDevices devices =
        device.selection.moving.empty() ? find_rdma_devices(device.address, *rdma) : device.selection.moving;
    const auto port = find_port_of(*rdma, devices, link);
    if (!port) return;
    const std::string ifname = call.pod != nullptr ? call.request->ifname().to_string() : std::string();
    if (!device.link) // an earlier plugin's interface, in the pod, is found by its name
        require_active_port(config.rdma, wait_for_active(*rdma, *port, config.rdma, call.deadline), ifname, call.log);
    else if (link.is_up() || device.is_infiniband())
        require_active_port(config.rdma, *port, link.name, call.log);
    else
        device.awaits_port = config.rdma.on_inactive_port == config::OnInactivePort::refuse;
}

/// The check after the interface came up in the pod. Waits for its port, and returns it; nullopt if there is none.
std::optional<RdmaPort> require_active_port_in_pod(const RdmaDevices& devices, const Call& call, const Link& link) {
    const config::RdmaPolicy& policy = call.config->rdma;
    Socket* const inside = call.pod->find_rdma(call.deadline);
    auto port = inside != nullptr ? find_port_of(*inside, devices, link, &call.pod->netns) : std::nullopt;
    if (port) require_active_port(policy, wait_for_active(*inside, *port, policy, call.deadline), link.name, call.log);
    return port;
}

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
        require_rdma_of_ipoib(parent, call);
        require_active_port_of_ipoib(call.config->rdma, parent, call.log, call.deadline);
        return std::nullopt;
    }
    auto port = find_rdma(parent, call);
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
    require_gid_room(port, parent.name, addresses, holders, call);
}

std::vector<base::IpAddress> addresses_of(const cni::Result& result) {
    std::vector<base::IpAddress> addresses;
    for (const cni::IpConfig& ip : result.ips) addresses.push_back(ip.address.address());
    return addresses;
}

/// For an RDMA device on the host that pods share.
void wait_for_shared_gids(const Call& call, const kernel::RdmaPort& port, const Progress& progress) {
    const auto holders = [&] { return describe_gid_holders(port, call.records, call.deadline); };
    wait_for_gids({port, progress.link->name}, addresses_of(progress.own), holders, call);
}

/// Shares an RDMA device that stays on the host, or none. Waits for the port and the GIDs of the pod's interface.
class RdmaPortStep final : public Step {
public:
    RdmaPortStep(const Findings& found, bool is_worth_a_line)
        : shared_(found.shared_port()), is_worth_a_line_(is_worth_a_line) {
        if (found.device && found.device->link)
            device_ = Device{found.device->address, found.device->awaits_port, found.device->is_infiniband()};
    }

    [[nodiscard]] std::string rdma_device() const override { return shared_ ? shared_->link_name() : std::string(); }

    void describe(const Call& /*call*/, Description& description) const override {
        if (shared_)
            description.add.push_back(fmt::format("share {}, which stays on the host", *shared_));
        else if (is_worth_a_line_)
            description.add.emplace_back("give it no RDMA device");
    }

    /// A driver that was bound again has created another RDMA device.
    [[nodiscard]] bool learn(const Call& /*call*/, const Progress& progress) override {
        if (!shared_ || !progress.made_rdma || has_learned_) return false;
        shared_->device_index = progress.made_rdma->front().index;
        shared_->device = progress.made_rdma->front().name;
        return has_learned_ = true;
    }

    void apply(const Call& call, Progress& progress) override {
        if (shared_) progress.rdma_device = shared_->device;
        if (device_)
            await_device(call, progress);
        else if (shared_ && progress.link)
            wait_for_shared_gids(call, *shared_, progress);
    }

private:
    struct Device {
        base::BusAddress address;
        bool awaits_port;
        bool is_infiniband;
    };

    /// Its own RDMA devices are in the pod or on the host.
    void await_device(const Call& call, const Progress& progress) const {
        std::optional<kernel::RdmaPort> port;
        if (device_->awaits_port) port = require_active_port_in_pod(rdma_devices(call, progress), call, *progress.link);
        if (device_->is_infiniband) return; // on InfiniBand, GIDs do not come from addresses
        if (shared_) wait_for_shared_gids(call, *shared_, progress);
        wait_for_gids_in_pod(progress.moved_rdma, std::move(port), *progress.link, addresses_of(progress.own), call);
    }

    /// The RDMA devices that moved into the pod, or else those on the host.
    [[nodiscard]] RdmaDevices rdma_devices(const Call& call, const Progress& progress) const {
        if (!progress.moved_rdma.empty()) return progress.moved_rdma;
        auto outside = kernel::Socket::find_rdma(call.deadline);
        return outside ? find_rdma_devices(device_->address, *outside) : RdmaDevices{};
    }

    std::optional<kernel::RdmaPort> shared_; // of the RDMA device that stays on the host
    std::optional<Device> device_{};
    bool is_worth_a_line_;
    bool has_learned_ = false;
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
    const auto missing = missing_gids({*port, link.name}, compared.expected.addresses());
    if (!missing.empty()) differs(fmt::format("{} has no GID of {}", *port, missing.front()), kDeletePod);
}

void check_gids(const Comparison& compared, const Link& link) {
    const state::AttachmentRecord& record = compared.record;
    const std::vector<base::IpAddress> addresses = compared.expected.addresses();
    if (!had_gids(compared.wanted.rdma)) return;
    if (record.rdma_device.empty() || addresses.empty() || link.port_guid()) return;
    const RdmaDevices moved = moved_devices(record);
    const auto missing = moved.empty()
                             ? missing_gids({recorded_port(record), link.name}, addresses)
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

void RdmaPortKind::find(const Call& call, Findings& found) {
    if (found.parent && !call.config->link_in_container) {
        FoundParent& parent = *found.parent;
        parent.rdma = find_rdma_of_parent(parent.parent, call);
        if (parent.rdma) require_gids(parent.parent, *parent.rdma, call);
    }
    if (!found.device || (call.pod == nullptr && !found.device->link)) return;
    require_active_port_before(*found.device, call);
}

std::unique_ptr<Step> RdmaPortKind::make(const Call& call, const Findings& found) {
    const bool moves = found.device && !found.device->selection.moving.empty();
    return std::make_unique<RdmaPortStep>(found, !moves && !call.config->is_ipoib());
}

void RdmaPortKind::check(const Comparison& compared) {
    if (!has_netdev(compared.record)) return;
    const Link& link = require_link(compared);
    check_shared_rdma(compared, link);
    if (!compared.wanted.is_device()) return;
    check_guid(compared.wanted.vf.port_guid, link);
    check_gids(compared, link);
    check_port_of_device(compared, link);
}

} // namespace rdmanet::attach
