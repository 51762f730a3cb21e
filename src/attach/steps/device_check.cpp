#include "device_check.hpp"

#include "vf_settings.hpp"

#include "lookup/rdma_devices.hpp"
#include "owners/claims.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/ipam/store/sqlite_store.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;

/// That of the device on the host, which pods share.
kernel::RdmaPort shared_port(const state::AttachmentRecord& record) {
    const auto port = kernel::parse_rdma_link_name(record.rdma_device);
    return port.value_or(kernel::RdmaPort{.device = record.rdma_device, .port = 1});
}

void check_rdma_shared(const state::AttachmentRecord& record, const base::Deadline& deadline) {
    const std::string name = shared_port(record).device;
    auto outside = kernel::Socket::find_rdma(deadline);
    if (!outside || !kernel::find_rdma_device(*outside, name))
        differs(concat("RDMA device ", quoted(name), " of ", record.device(), " is gone from the host"));
}

/// The pod's name for it counts where the configuration had ADD give it one.
void check_moved_rdma(const state::MoveRdma& wanted, const std::optional<kernel::RdmaDevice>& present) {
    if (!present) differs(concat("RDMA device ", quoted(wanted.name), " of ", wanted.device, " is gone from the pod"));
    if (!wanted.name_in_pod.empty() && present->name != wanted.name_in_pod)
        differs(concat("RDMA device of ", wanted.device, " is called ", quoted(present->name), " in the pod, expected ",
                       quoted(wanted.name_in_pod)));
}

/// In the namespace that ADD left them in, which must be the one that the configuration asks for by now.
void check_rdma_place(const config::RdmaPolicy& policy, const state::AttachmentRecord& record,
                      const kernel::Netns& netns, const base::Deadline& deadline) {
    if (record.rdma_device.empty()) return;
    const RdmaDevices moved = moved_devices(record);
    if (policy.isolation.value_or(!moved.empty()) == moved.empty())
        differs(concat("RDMA device ", record.rdma_device, " of ", record.device(),
                       moved.empty() ? " stayed on the host, expected in the pod"
                                     : " is in the pod, expected on the host"));
    if (moved.empty()) return check_rdma_shared(record, deadline);
    auto inside = kernel::Socket::find_rdma_in(netns, deadline);
    for (const state::Step& step : record.steps)
        if (const auto* wanted = std::get_if<state::MoveRdma>(&step))
            check_moved_rdma(*wanted, inside ? kernel::find_rdma_device(*inside, wanted->index) : std::nullopt);
}

/// What the PF has been told is one thing, what the port has is another: drivers take a GUID when they are bound.
void check_guid(const std::optional<base::Guid>& wanted, const kernel::Link& link) {
    const auto present = link.port_guid();
    if (wanted && present && *wanted != *present)
        differs(concat("interface ", quoted(link.name), " has GUID ", *present, ", expected ", *wanted,
                       ", which the VF's driver takes when it is bound: delete the pod, so that another ADD does"));
}

/// Only where ADD has waited for them until they were there.
void check_gids(const config::RdmaPolicy& policy, const state::AttachmentRecord& record, const kernel::Netns& netns,
                const kernel::Link& link, const std::vector<base::IpAddress>& addresses,
                const base::Deadline& deadline) {
    if (policy.on_missing_gid == config::OnMissingGid::warn || !policy.wait_for_gids) return;
    if (record.rdma_device.empty() || addresses.empty() || link.port_guid()) return;
    const RdmaDevices moved = moved_devices(record);
    const auto missing = moved.empty() ? missing_gids(shared_port(record), link.name, addresses)
                                       : missing_gids_in_pod(moved, netns, link, addresses, deadline);
    if (!missing.empty()) differs(concat("RDMA device ", record.rdma_device, " has no GID of ", missing.front()));
}

std::optional<kernel::RdmaPort> find_shared_port(const state::AttachmentRecord& record,
                                                 const base::Deadline& deadline) {
    const kernel::RdmaPort wanted = shared_port(record);
    auto outside = kernel::Socket::find_rdma(deadline);
    const auto device = outside ? kernel::find_rdma_device(*outside, wanted.device) : std::nullopt;
    if (!device) return std::nullopt;
    for (kernel::RdmaPort& port : kernel::list_rdma_ports(*outside, *device))
        if (port.port == wanted.port) return std::move(port);
    return std::nullopt;
}

/// The link of a whole function goes down when it moves, and comes back some seconds later. ADD doesn't wait for that,
/// and CRI-O checks at once.
bool may_be_coming_up(const state::AttachmentRecord& record) {
    constexpr std::int64_t kSeconds{30};
    return record.attach == "host-device" && record.created_since_boot &&
           ipam::system_time().boot - *record.created_since_boot < kSeconds;
}

/// The port of the pod's interface, on its RDMA devices in the pod, or on the one that stayed on the host.
void check_port_of_device(const config::RdmaPolicy& policy, const state::AttachmentRecord& record,
                          const kernel::Netns& netns, const kernel::Link& link, const base::Deadline& deadline) {
    if (policy.on_inactive_port != config::OnInactivePort::refuse || record.rdma_device.empty()) return;
    if (may_be_coming_up(record)) return;
    const RdmaDevices moved = moved_devices(record);
    auto inside = moved.empty() ? std::nullopt : kernel::Socket::find_rdma_in(netns, deadline);
    const auto port = inside ? find_port_of(*inside, moved, link, &netns) : find_shared_port(record, deadline);
    if (port) check_port(policy, *port, link.name);
}

} // namespace

void check_device(const Intended& wanted, const state::AttachmentRecord& record, const kernel::Netns& netns,
                  const kernel::Link* link, const base::Deadline& deadline) {
    check_rdma_place(wanted.rdma, record, netns, deadline);
    const auto* kept = record.find_step<state::KeepDevice>();
    if (kept == nullptr) return; // an earlier plugin's
    const auto address = base::BusAddress::parse(kept->device);
    if (!address || (wanted.device && *wanted.device != *address))
        differs(concat("the attachment has device ", kept->device, ", expected ",
                       wanted.device ? wanted.device->to_string() : std::string("the address of one")));
    if (wanted.kind == "sriov") check_vf(wanted, record, *address, link, deadline);
}

void check_device_link(const Intended& wanted, const state::AttachmentRecord& record, const kernel::Netns& netns,
                       const kernel::Link& link, const std::vector<base::IpAddress>& addresses,
                       const base::Deadline& deadline) {
    check_guid(wanted.vf.port_guid, link);
    check_gids(wanted.rdma, record, netns, link, addresses, deadline);
    check_port_of_device(wanted.rdma, record, netns, link, deadline);
}

} // namespace rdmanet::attach
