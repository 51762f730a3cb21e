#include "device_return.hpp"
#include "kinds.hpp"
#include "link_settings.hpp"
#include "rdma_names.hpp"

#include "lookup/device_link.hpp"
#include "lookup/device_usable.hpp"
#include "owners/claims.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/wait.hpp>
#include <rdmanet/kernel/device.hpp>

#include <optional>
#include <utility>

namespace rdmanet::attach {
namespace {

using kernel::Link;
using kernel::Socket;
using state::DeviceBaseline;

DeviceBaseline baseline_of(const FoundDevice& device, const base::Deadline& deadline, const base::Logger& log) {
    const std::string address = device.address.to_string();
    return {.link =
                device.link ? keep_link(address, *device.link, deadline, log) : state::LinkBefore{.device = address}};
}

/// The MAC of a VF without a net device, as its PF has it. Empty if the PF has none.
std::string mac_without_link(const FoundDevice& device) {
    if (!device.vf) return {};
    const FoundVf& vf = *device.vf;
    const auto& mac = vf.changes.mac ? vf.changes.mac : vf.before.mac;
    return mac && !mac->is_zero() ? mac->to_string() : std::string();
}

/// Applying it does nothing. It comes first, so that it is undone last.
class DeviceBaselineStep final : public RecordedStep<DeviceBaseline> {
public:
    DeviceBaselineStep(DeviceBaseline step, std::string mac) : RecordedStep(std::move(step)), mac_(std::move(mac)) {}
    void conclude(const Call& /*call*/, const Progress& progress, Conclusion& end) const override {
        end.interface.pci_id = step_.link.device;
        if (!progress.link) end.interface.mac = mac_;
    }

private:
    std::string mac_;
};

} // namespace

void DeviceBaselineKind::find(const Call& call, Findings& found) {
    const auto* address = found.moving ? std::get_if<base::BusAddress>(&*found.moving) : nullptr;
    if (address == nullptr) return;
    const config::Config& config = *call.config;
    require_existing(*address);
    FoundDevice& device = found.device.emplace(FoundDevice{.address = *address});
    if (call.pod != nullptr) {
        require_unclaimed(address->to_string(), call);
        device.waiting_names = list_waiting_names(call);
        device.is_settled = config.is_rdma_only() && is_rdma_moved_by_same_list(*address, call);
    }
    if (device.is_settled) return refuse_late_choice(*address, config.rdma);
    if (config.is_rdma_only()) return;
    device.link = find_device_link(*address, *call.host);
    if (device.link) require_unused_by_node(*address, *device.link, *call.host);
}

std::unique_ptr<Step> DeviceBaselineKind::make(const Call& call, const Findings& found) {
    if (!found.device || call.config->is_rdma_only()) return nullptr;
    return std::make_unique<DeviceBaselineStep>(baseline_of(*found.device, call.deadline, call.log),
                                                mac_without_link(*found.device));
}

void DeviceBaselineKind::check(const Comparison& compared) {
    if (!compared.wanted.is_device() || !compared.record.has_step<DeviceBaseline>())
        return; // an earlier plugin has the interface
    const std::string device = compared.record.device();
    const auto address = base::BusAddress::parse(device);
    const auto& wanted = compared.wanted.device;
    if (!address || (wanted && *wanted != *address))
        differs(fmt::format("the attachment has device {}, expected {}", device,
                            wanted ? wanted->to_string() : std::string("the address of one")),
                kDeletePod);
    if (!kernel::device_exists(*address)) differs(fmt::format("device {} is gone from the node", device), kDeletePod);
}

std::string DeviceBaselineKind::describe(const Recorded& step) {
    return fmt::format("device {}", step.link.device);
}

ByHand DeviceBaselineKind::by_hand(const Recorded& step, const base::Deadline& /*deadline*/) {
    if (step.link.name.empty()) return {.text = "nothing to do"};
    return {.text = "what the pod set on its interface stays: restore it once the pod is gone", .needs_record = true};
}

void DeviceBaselineKind::revert(const Recorded& step, const Undo& undo) {
    const auto address = find_present_device(step.link.device);
    if (!address || step.link.name.empty() || !has_network_driver(*address)) return;
    Socket route = Socket::open(kernel::Protocol::route, undo.call.deadline);
    // The device is back on the host, but its driver may take some time to create the net device.
    auto link =
        base::wait_for(undo.call.deadline.at_most(kReturnTimeout), [&] { return find_link_on_host(*address, route); });
    if (!link)
        throw base::Error(
            fmt::format("its net device is not on the host: look into `dmesg` for messages of driver {}, and "
                        "bind that driver again",
                        kernel::driver_of(*address)));
    restore_link(route, *link, step.link, undo.call.log);
}

} // namespace rdmanet::attach
