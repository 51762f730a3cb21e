// The way between RDMA NICs and accelerators: GPUDirect RDMA moves data on the PCI bus, past the processor.
#include "checks.hpp"
#include "files.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <fcntl.h>
#include <linux/pci_regs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <set>

namespace rdmanet::doctor {
namespace {

using inventory::Device;
using inventory::PciFunction;

/// A PF stands for its VFs, which have the same way.
template <class Visit>
void for_each_rdma_nic(const Context& context, const Visit& visit) {
    for (const Device& device : context.inventory.devices)
        if (device.pci && !device.pci->pf && !device.rdma.empty()) visit(device, *device.pci);
}

std::string directory_of(const Context& context, std::string_view function) {
    return context.path(fmt::format("/sys/bus/pci/devices/{}", function));
}

/// With translation, each access between the two passes the IOMMU at the root port.
void check_iommu(const Context& context, Findings& found) {
    if (context.inventory.others.empty()) return;
    for_each_rdma_nic(context, [&](const Device& device, const PciFunction& nic) {
        // "DMA" and "DMA-FQ" translate, "identity" does not (Documentation/ABI/testing/sysfs-kernel-iommu_groups).
        const std::string type =
            line_of(fmt::format("{}/iommu_group/type", directory_of(context, nic.address.to_string())));
        if (type.starts_with("DMA"))
            found.warning(
                subject_of(device),
                fmt::format("the IOMMU translates its addresses (type {}): GPUDirect RDMA is slow", type),
                "add iommu.passthrough=1 to the kernel's command line, and reboot; VMs with this NIC still work");
    });
}

/// The 16 bits at `offset` of a function's configuration space; nullopt behind its end.
std::optional<unsigned> read_word(int config, unsigned offset) {
    std::uint8_t bytes[2];
    const ssize_t count = ::pread(config, bytes, sizeof bytes, static_cast<off_t>(offset));
    if (count < 0) throw base::SystemError("read the configuration space of a PCI bridge", errno);
    if (count != sizeof bytes) return std::nullopt;
    return bytes[0] | static_cast<unsigned>(bytes[1]) << 8U; // little-endian on every machine
}

/// The control register of Access Control Services (PCI Express Base Specification, 7.7.11); 0 without them.
unsigned acs_control_of(const Context& context, const std::string& bridge) {
    const std::string path = fmt::format("{}/config", directory_of(context, bridge));
    const base::UniqueFd config(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!config) throw base::SystemError(fmt::format("open {}", path), errno);
    std::set<unsigned> seen;
    // Each extended capability begins with its number, then version and the place of the next one.
    for (unsigned at = PCI_CFG_SPACE_SIZE; at >= PCI_CFG_SPACE_SIZE && seen.insert(at).second;) {
        const auto id = read_word(config.get(), at);
        const auto next = read_word(config.get(), at + 2);
        if (!id || !next) {
            if (at != PCI_CFG_SPACE_SIZE) return 0;
            throw base::Error(fmt::format("the kernel shows the extended configuration space of {} only to root "
                                          "(CAP_SYS_ADMIN)",
                                          bridge));
        }
        if (*id == PCI_EXT_CAP_ID_ACS) return read_word(config.get(), at + PCI_ACS_CTRL).value_or(0);
        at = (*next >> 4U) & ~3U; // the low bits are reserved
    }
    return 0;
}

/// Bridges that a packet between the two passes: below the last that both have above them.
std::vector<std::string> bridges_between(const PciFunction& one, const PciFunction& other) {
    const auto [mine, theirs] = std::mismatch(one.path.begin(), one.path.end(), other.path.begin(), other.path.end());
    std::vector<std::string> bridges(mine, one.path.end());
    bridges.insert(bridges.end(), theirs, other.path.end());
    return bridges;
}

/// A switch whose ports redirect sends packets between two of its devices up to the root port and down again.
void check_acs(const Context& context, Findings& found) {
    constexpr unsigned kRedirects = PCI_ACS_RR | PCI_ACS_CR;
    std::set<std::string> told;
    for_each_rdma_nic(context, [&](const Device& device, const PciFunction& nic) {
        for (const PciFunction& gpu : context.inventory.others) {
            if (!share_switch(nic, gpu)) continue;
            for (const std::string& bridge : bridges_between(nic, gpu)) {
                if ((acs_control_of(context, bridge) & kRedirects) == 0 || !told.insert(bridge).second) continue;
                found.warning(subject_of(device),
                              fmt::format("ACS of PCI bridge {} redirects packets between it and accelerator {} to the "
                                          "root port: GPUDirect RDMA is slow",
                                          bridge, gpu.address),
                              fmt::format("on a node without VMs: `setpci -s {} ECAP_ACS+0x6.w=0` after each boot, or "
                                          "disable ACS in the firmware",
                                          bridge));
            }
        }
    });
}

/// nvidia_peermem lets RDMA drivers pin a GPU's memory. Programs that use DMA-BUF do not need it.
void check_peer_memory(const Context& context, Findings& found) {
    const bool is_nvidia =
        std::ranges::any_of(context.inventory.others, [](const PciFunction& each) { return each.driver == "nvidia"; });
    bool any_nic = false;
    for_each_rdma_nic(context, [&](const Device&, const PciFunction&) { any_nic = true; });
    const auto is_loaded = [&](std::string_view module) {
        return exists(context.path(fmt::format("/sys/module/{}", module)));
    };
    if (!is_nvidia || !any_nic || is_loaded("nvidia_peermem") || is_loaded("nv_peer_mem"))
        return; // the latter is OFED's
    found.info("", "nvidia_peermem is not loaded: without it only programs that use DMA-BUF have GPUDirect RDMA",
               "`modprobe nvidia_peermem`");
}

constexpr Check kGpuChecks[] = {
    {{"iommu", Layer::hardware, "IOMMU of RDMA NICs beside accelerators"}, check_iommu},
    {{"acs", Layer::hardware, "PCIe switches between RDMA NICs and accelerators"}, check_acs},
    {{"peer-memory", Layer::hardware, "nvidia_peermem beside GPUs"}, check_peer_memory},
};

} // namespace

std::span<const Check> gpu_checks() {
    return kGpuChecks;
}

} // namespace rdmanet::doctor
