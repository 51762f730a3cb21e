// RDMA devices of other protocols than RoCE and InfiniBand.
#include "checks.hpp"
#include "modules.hpp"
#include "processes.hpp"

#include <algorithm>

namespace rdmanet::doctor {
namespace {

using inventory::Device;
using inventory::RdmaDevice;

bool has_omni_path(const Context& context) {
    const auto& devices = context.inventory.devices;
    return std::ranges::any_of(devices, [](const Device& device) {
        return std::ranges::any_of(device.rdma, [](const RdmaDevice& rdma) { return rdma.protocol == "opa"; });
    });
}

template <class Visit>
void for_each_of(const Context& context, std::string_view protocol, const Visit& visit) {
    for (const Device& device : context.inventory.devices)
        for (const RdmaDevice& rdma : device.rdma)
            if (rdma.protocol == protocol) visit(device, rdma);
}

/// The kernel gives GIDs of addresses only to RoCE (rdma_cap_roce_gid_table(), roce_gid_mgmt.c). Drivers answer with a
/// GID that begins with the interface's MAC, for example siw_query_gid(). Queue pairs are connected by iw_cm, which
/// only RDMA CM calls (drivers/infiniband/core/iwcm.c, cma.c).
void report_iwarp(const Context& context, Findings& found) {
    for_each_of(context, "iw", [&](const Device& device, const RdmaDevice& rdma) {
        found.info(subject_of(device),
                   fmt::format("RDMA device {} uses iWARP: its GID is no IP address, and only programs that use RDMA "
                               "CM can connect",
                               rdma.name),
                   "use RDMA CM (`rping`; `ib_write_bw -R`), and \"waitForGids\": false in \"rdma\" of the network");
    });
}

/// Omni-Path has another management than InfiniBand (include/rdma/opa_smi.h). If the node also has InfiniBand, opensm
/// may be for that.
void report_omni_path(const Context& context, Findings& found) {
    if (!has_omni_path(context) || has_infiniband(context)) return;
    const std::vector<std::string> processes = list_processes(context);
    const bool has_opensm =
        std::ranges::any_of(processes, [](const std::string& process) { return program_of(process) == "opensm"; });
    if (!has_opensm) return;
    for_each_of(context, "opa", [&](const Device& device, const RdmaDevice& rdma) {
        found.warning(subject_of(device),
                      fmt::format("RDMA device {} uses Omni-Path, which the subnet manager opensm of this node cannot "
                                  "manage",
                                  rdma.name),
                      "stop opensm, and run the fabric manager of Omni-Path (opafm) on a node of the fabric");
    });
}

void check_protocols(const Context& context, Findings& found) {
    report_iwarp(context, found);
    report_omni_path(context, found);
}

constexpr Check kProtocolChecks[] = {
    {{"protocols", Layer::rdma, "RDMA devices of iWARP and Omni-Path"}, check_protocols},
};

} // namespace

std::span<const Check> protocol_checks() {
    return kProtocolChecks;
}

} // namespace rdmanet::doctor
