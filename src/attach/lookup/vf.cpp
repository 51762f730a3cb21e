#include "vf.hpp"

#include "device_usable.hpp"

#include <rdmanet/base/format.hpp>

#include <utility>

namespace rdmanet::attach {
namespace {

kernel::VfOf find_vf_of(const base::BusAddress& address) {
    const auto pci = address.pci();
    const auto of = pci ? kernel::find_pf_of(*pci) : std::nullopt;
    if (!of) {
        require_existing(address);
        refuse_device(address, "is not an SR-IOV VF: set \"attach\": \"host-device\" for other devices");
    }
    return *of;
}

std::optional<base::InterfaceName> find_uplink(const kernel::VfOf& of) {
    const auto uplink = kernel::uplink_of(of.pf);
    return uplink ? base::InterfaceName::parse(*uplink) : std::nullopt;
}

kernel::VfId id_of(const kernel::VfOf& of, const kernel::Link& pf) {
    return {.pf_ifindex = pf.ifindex, .pf = pf.name, .number = of.number};
}

} // namespace

VfView view_vf(const base::BusAddress& address, kernel::Socket& route) {
    const kernel::VfOf of = find_vf_of(address);
    const auto uplink = find_uplink(of);
    auto found = uplink ? kernel::find_pf_with_vf(route, *uplink, of.number) : std::nullopt;
    if (!found)
        refuse_device(address, fmt::format("has PF {}, whose net device is not on the host, and the VF cannot be set "
                                           "up without it: bind the PF to its network driver",
                                           of.pf));
    kernel::VfId id = id_of(of, found->pf);
    if (!found->vf)
        refuse_device(address,
                      fmt::format("is {}, but the PF reports no settings of it: update the driver of the PF", id));
    return {.of = of, .id = std::move(id), .pf = std::move(found->pf), .present = *found->vf};
}

std::optional<kernel::VfId> find_vf_id(const kernel::VfOf& of, kernel::Socket& route) {
    const auto uplink = find_uplink(of);
    const auto pf = uplink ? kernel::find_link(route, *uplink) : std::nullopt;
    return pf ? std::optional(id_of(of, *pf)) : std::nullopt;
}

} // namespace rdmanet::attach
