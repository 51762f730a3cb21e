#include "shared.hpp"

namespace rdmanet::kernel {
namespace {

fake::Function* find_pf(Socket& route, unsigned ifindex) {
    const auto link = find_link(route, ifindex);
    return link ? find_function(link->parent_device) : nullptr;
}

template <class Value>
std::string change_text(const VfId& vf, const Value& settings) {
    return fmt::format("set {} vf {} {}", vf.pf, vf.number, settings);
}

} // namespace

std::optional<VfSettings> find_vf(Socket& route, const VfId& vf) {
    const auto* pf = find_pf(route, vf.pf_ifindex);
    return pf != nullptr && pf->vfs.contains(vf.number) ? std::optional(pf->vfs.at(vf.number)) : std::nullopt;
}

std::optional<PfWithVf> find_pf_with_vf(Socket& route, const base::InterfaceName& pf, unsigned number) {
    const auto link = find_link(route, pf);
    if (!link) return std::nullopt;
    return PfWithVf{.pf = *link,
                    .vf = find_vf(route, {.pf_ifindex = link->ifindex, .pf = link->name, .number = number})};
}

std::vector<ReportedVf> list_reported_vfs(Socket& /*route*/) {
    std::vector<ReportedVf> reported;
    for (const auto& [address, function] : machine().functions)
        for (const auto& [number, settings] : function.vfs)
            reported.push_back(
                {.of = VfOf{.pf = base::PciAddress::parse(address).value(), .number = number}, .settings = settings});
    return reported;
}

void change_vf(Socket& route, const VfId& vf, const VfSettings& wanted) {
    for (const VfSettings& each : each_of(wanted)) {
        if (!machine().change(change_text(vf, each))) continue;
        VfSettings& now = find_pf(route, vf.pf_ifindex)->vfs.at(vf.number);
        assign(now.mac, each.mac);
        assign(now.vlan, each.vlan);
        assign(now.rates, each.rates);
        assign(now.spoof_check, each.spoof_check);
        assign(now.trust, each.trust);
        assign(now.link_state, each.link_state);
        assign(now.node_guid, each.node_guid);
        assign(now.port_guid, each.port_guid);
    }
}

VfSettings without_port_speed(const VfSettings& present, const VfId& /*vf*/) {
    return present;
}

} // namespace rdmanet::kernel
