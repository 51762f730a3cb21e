#include "device.hpp"

#include "device_port.hpp"
#include "move_link.hpp"
#include "move_rdma.hpp"
#include "rdma_names.hpp"
#include "rebind_driver.hpp"
#include "representor.hpp"
#include "reset_function.hpp"
#include "vf_settings.hpp"

#include "lookup/device_link.hpp"
#include "lookup/device_usable.hpp"
#include "lookup/request.hpp"
#include "owners/claims.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <utility>

namespace rdmanet::attach {
namespace {

using base::BusAddress;
using base::concat;
using base::quoted;
using kernel::Link;

/// The interface would be lost to the pod, addresses and all: the kernel makes it anew when its RDMA device moves,
/// see follow_rdma().
void require_no_ipoib(const BusAddress& address, kernel::Socket& route, PodSide& pod) {
    auto link = find_link_inside(address, pod.route);
    if (!link) link = find_link_on_host(address, route);
    if (link && link->is_infiniband())
        refuse_device(address, concat("is InfiniBand, the kernel destroys its IPoIB interface ", quoted(link->name),
                                      " when its RDMA device moves alone: instead of the plugin before this one, let ",
                                      "\"attach\": \"sriov\" or \"host-device\" move both"));
}

/// What the configuration says of an interface that there is none of.
void warn_of_no_interface(const FoundDevice& plan, const cni::Request& request, const config::Config& config,
                          const base::Logger& log) {
    const std::string why = concat(" is not set: device ", plan.address, " has driver ",
                                   quoted(kernel::driver_of(plan.address)), " and no interface");
    if (config.mtu) log.warn(concat("mtu: ", *config.mtu, why));
    if (const auto mac = wanted_mac(request, config); mac && !plan.vf) log.warn(concat("mac: ", *mac, why));
}

} // namespace

FoundDevice plan_device(const cni::Request& request, const config::Config& config, const Attachment& attachment,
                        PodSide& pod, const BusAddress& address, const base::Deadline& deadline) {
    require_existing(address);
    if (config.reset) require_resettable(address);
    require_unclaimed(address.to_string(), attachment);
    FoundDevice plan{.address = address, .owed_names = list_owed_names(name_keeper(attachment))};
    if (config.is_rdma_only() && is_rdma_moved_beside(address, attachment)) { // nothing is left to do
        refuse_late_choice(address, config.rdma);
        return plan;
    }
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    if (std::holds_alternative<config::Sriov>(config.attach)) plan.vf = plan_vf(address, request, config, route);
    if (plan.vf) warn_of_inherited_vlan(*plan.vf, request, config, attachment.node.log);
    if (config.is_rdma_only())
        require_no_ipoib(address, route, pod);
    else
        plan.link = find_device_link(address, route);
    if (plan.link) {
        require_spare(address, *plan.link, route);
        require_free_names(address.to_string(), *plan.link, pod, request);
    } else if (!config.is_rdma_only()) {
        warn_of_no_interface(plan, request, config, attachment.node.log);
    }
    if (plan.is_infiniband()) {
        if (const auto mac = wanted_mac(request, config))
            throw cni::CniError(cni::ErrorCode::unsupported_field, concat("mac: ", *mac, " can't be set, device ",
                                                                          address, " is InfiniBand: set \"guid\""));
        if (!config.rdma.link_local_gids)
            throw cni::CniError(cni::ErrorCode::unsupported_field,
                                concat("rdma.linkLocalGids: can't be set, device ", address,
                                       " is InfiniBand, whose GIDs come from no addresses: remove it"));
        if (config.duplicate_detection == config::DuplicateDetection::probe)
            throw cni::CniError(cni::ErrorCode::unsupported_field,
                                concat("duplicateAddressDetection: can't be \"probe\", device ", address,
                                       " is InfiniBand, and only Ethernet is asked: remove it"));
        plan_guid(plan, request, config, attachment, route, deadline);
    }
    if (plan.vf) plan.representor = plan_representor(plan, config, route, attachment.node.log);
    plan_rdma(plan, config, request, pod.netns, attachment.node.log, deadline);
    if (config.reset) plan.reset = plan_reset(address, plan.owed_names, attachment.node.log, deadline);
    const bool is_made_anew =
        plan.reset || (plan.is_infiniband() && (!plan.selection.moving.empty() || !plan.rebind_to.empty()));
    if (plan.link && is_made_anew) require_no_children(address, *plan.link, attachment, route);
    require_active_port_before(plan, config, request.ifname().to_string(), attachment.node.log, deadline);
    return plan;
}

} // namespace rdmanet::attach
