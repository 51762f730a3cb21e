#include "reset_function.hpp"

#include "device_return.hpp"
#include "kinds.hpp"
#include "rdma_names.hpp"

#include "lookup/device_ready.hpp"
#include "lookup/device_usable.hpp"
#include "lookup/rdma_devices.hpp"
#include "owners/claims.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::BusAddress;
using base::quoted;
using kernel::Socket;
using state::ResetFunction;

std::vector<std::string> list_uverbs_in_driver_order(const BusAddress& address, Socket* rdma) {
    return rdma != nullptr ? list_uverbs(list_in_driver_order(address, rdma), *rdma) : std::vector<std::string>{};
}

/// Whether the device had a net device before the pod. A driver for user space creates none. Without DeviceBaseline the
/// record was lost, and only devices with a net device are put together again.
bool had_link(const state::AttachmentRecord& record) {
    const auto* kept = record.find_step<state::DeviceBaseline>();
    return !kept || !kept->link.name.empty();
}

/// Device plugins read the numbers only when they start.
void warn_of_new_numbers(const ResetFunction& step, const std::vector<std::string>& before,
                         const std::vector<std::string>& after, const base::Logger& log) {
    for (std::size_t at = 0; at < std::min({before.size(), after.size(), step.rdma_names.size()}); ++at)
        if (!before[at].empty() && before[at] != after[at])
            log.warn(fmt::format(
                "RDMA device {} became /dev/infiniband/{} when its driver was bound again, and was {} before: "
                "restart the device plugin if it still gives pods the old file",
                quoted(step.rdma_names[at]), after[at], before[at]));
}

/// Waits for what the driver creates after the reset, and returns the RDMA devices in the driver's order. Throws if
/// the deadline left too little time for that, because the next attempt has more.
RdmaDevices await_devices(const ResetFunction& step, const BusAddress& address,
                          const std::vector<std::string>& uverbs_before, Socket* rdma, const Undo& undo) {
    constexpr std::chrono::seconds kTimeout{10};
    const bool is_cut_short = undo.call.deadline.remaining() < kTimeout;
    Socket route = Socket::open(kernel::Protocol::route, undo.call.deadline);
    auto made = wait_for_devices(address, {.link = had_link(undo.record), .rdma_devices = step.rdma_names.size()},
                                 route, rdma, undo.call.deadline.at_most(kTimeout));
    if (!made && is_cut_short)
        throw base::Error(fmt::format("device {} lacks its net device or an RDMA device after its reset", address));
    if (!made) {
        undo.call.log.warn(
            fmt::format("device {} lacks its net device or an RDMA device {} s after its reset: look into `dmesg` "
                        "for messages of driver {}",
                        address, kTimeout.count(), quoted(step.driver)));
        return {};
    }
    sort_in_driver_order(*made);
    if (rdma != nullptr) warn_of_new_numbers(step, uverbs_before, list_uverbs(*made, *rdma), undo.call.log);
    return *std::move(made);
}

/// Restores the names of the RDMA devices. DeviceBaseline restores the net device.
void restore_names(const RdmaDevices& made, const ResetFunction& step, const BusAddress& address, Socket& rdma,
                   const Undo& undo) {
    for (std::size_t at = 0; at < std::min(made.size(), step.rdma_names.size()); ++at)
        restore_rdma_name(rdma, made[at], address, step.rdma_names[at], undo.call);
}

/// Returns false if the device still has a driver, or if the driver is not loaded: it will take the device when it is.
bool bind_again(const BusAddress& address, const std::string& driver) {
    if (!kernel::driver_of(address).empty() || !kernel::driver_exists(address, driver)) return false;
    kernel::bind(address, driver);
    return true;
}

/// Why the device cannot be reset alone, with the fix. Empty if it can.
std::string obstacle_to_reset(const BusAddress& address) {
    const std::string directory = fmt::format("/sys/{}", address.sysfs_path());
    if (const unsigned vfs = kernel::count_vfs_of(address); vfs != 0) // they go with its driver
        return fmt::format("it has {} {}, which would be removed: run `echo 0 >{}/sriov_numvfs`", vfs,
                           vfs == 1 ? "VF" : "VFs", directory);
    switch (kernel::resettable(address)) {
    case kernel::Resettable::yes: break;
    case kernel::Resettable::no: return fmt::format("the kernel knows no way ({}/reset is not there)", directory);
    case kernel::Resettable::switched_off:
        return fmt::format("every way is switched off: run `echo default >{}/reset_method`", directory);
    }
    return {};
}

/// Runs `act` and returns why it failed. Empty if it succeeded.
template <class Act>
std::string failure_of(Act&& act) {
    try {
        act();
    } catch (const base::Error& error) {
        return error.what();
    }
    return {};
}

/// Unbinds the driver and resets the device. Returns why that failed, or nothing. The lock of RDMA moves is not held
/// during the reset, which may take the kernel a minute.
std::string reset_alone(const BusAddress& address, Socket* rdma, const Undo& undo) {
    std::string obstacle = obstacle_to_reset(address);
    if (obstacle.empty()) obstacle = user_of(address, rdma);
    if (!obstacle.empty()) return obstacle;
    return failure_of([&] {
        {
            const base::FileLock lock = undo.call.records.lock_rdma(undo.call.deadline);
            kernel::unbind(address);
        }
        kernel::reset(address);
    });
}

/// What to do about a device that could not be reset.
std::string fix_for(const BusAddress& address) {
    const bool is_vf = address.pci() && kernel::find_pf_of(*address.pci());
    if (!is_vf) return "; `dmesg` may say more. No other pod gets the device before it was reset";
    return fmt::format(
        "; `dmesg` may say more. No other pod gets the device before it was reset: to give that up, write 0 to "
        "/sys/{}/physfn/sriov_numvfs, run `rdmanet gc`, and create the VFs again",
        address.sysfs_path());
}

/// Applying it does nothing. It is undone after the PF has restored the VF's settings, because the driver then takes
/// MAC and GUIDs from them.
class ResetAfter final : public RecordedStep<ResetFunction> {
public:
    using RecordedStep::RecordedStep;

    void describe(const Call& /*call*/, Description& description) const override {
        description.end.push_back(fmt::format("reset device {} when the pod is gone", step_.device));
    }
};

void require_resettable(const BusAddress& address) {
    if (!address.pci())
        refuse_device(address, "cannot be reset, because a sub-function has no reset of its own: remove \"reset\"");
    const std::string driver = kernel::driver_of(address);
    if (is_user_space_driver(driver) && !is_vfio_driver(driver)) // somebody would have to bind it by hand again
        refuse_device(address,
                      fmt::format("cannot be reset with driver {}: bind it to its network driver or to vfio-pci, or "
                                  "remove \"reset\"",
                                  quoted(driver)));
    if (const std::string obstacle = obstacle_to_reset(address); !obstacle.empty())
        refuse_device(address,
                      fmt::format("cannot be reset, because {}; or use another device, or remove \"reset\"", obstacle));
}

} // namespace

void ResetAfterKind::find(const Call& call, Findings& found) {
    if (!found.device || !call.config->reset) return;
    FoundDevice& device = *found.device;
    const bool is_vf = device.address.pci() && kernel::find_pf_of(*device.address.pci());
    if (!is_vf && std::holds_alternative<config::Sriov>(call.config->attach)) return; // refused as what it is: no VF
    require_resettable(device.address);
    if (call.pod == nullptr) return;
    device.reset = plan_reset(device.address, device.waiting_names, call);
    if (device.reset && device.link) require_no_children(device.address, *device.link, call, *call.host);
}

std::unique_ptr<Step> ResetAfterKind::make(const Call& /*call*/, const Findings& found) {
    if (!found.device || !found.device->reset) return nullptr;
    const FoundReset& reset = *found.device->reset;
    return std::make_unique<ResetAfter>(ResetFunction{
        .device = found.device->address.to_string(), .driver = reset.driver, .rdma_names = reset.rdma_names});
}

std::optional<FoundReset> plan_reset(const BusAddress& address, const std::vector<state::WaitingName>& waiting,
                                     const Call& call) {
    FoundReset found{.driver = kernel::driver_of(address)};
    // VFIO resets the device before and after each program that opens it (vfio_pci_core_enable() and
    // vfio_pci_core_disable(), drivers/vfio/pci/vfio_pci_core.c).
    if (is_vfio_driver(found.driver)) {
        call.log.debug(fmt::format("device {} is reset by its driver {}", address, quoted(found.driver)));
        return std::nullopt;
    }
    auto rdma = Socket::find_rdma(call.deadline);
    if (const std::string use = user_of(address, rdma ? &*rdma : nullptr); !use.empty())
        throw cni::CniError(cni::ErrorCode::rdma, fmt::format("{} before a pod gets the device", use));
    for (const kernel::RdmaDevice& device : list_in_driver_order(address, rdma ? &*rdma : nullptr))
        found.rdma_names.push_back(own_name(device, waiting));
    return found;
}

std::string ResetAfterKind::describe(const Recorded& step) {
    return fmt::format("reset of {}", step.device);
}

ByHand ResetAfterKind::by_hand(const Recorded& step, const base::Deadline& /*deadline*/) {
    const auto address = BusAddress::parse(step.device);
    if (!address || !kernel::device_exists(*address)) return {.text = "nothing to do, because the device is gone"};
    if (const std::string obstacle = obstacle_to_reset(*address); !obstacle.empty())
        return {.text = fmt::format("it cannot be reset, because {}", obstacle), .needs_record = true};
    // A reset under its driver would break it, so `&&` comes after the unbinding.
    std::string text =
        fmt::format("once the pod is gone and nothing else uses the device, run `{}echo 1 "
                    ">/sys/{}/reset{}`",
                    step.driver.empty() ? std::string() : unbind_command(*address) + " && ", address->sysfs_path(),
                    step.driver.empty() ? std::string() : "; " + bind_command(*address, step.driver));
    if (!step.rdma_names.empty())
        text += fmt::format(", then name its RDMA {} {} with `rdma dev set`",
                            step.rdma_names.size() == 1 ? "device" : "devices", base::join(step.rdma_names));
    return {.text = std::move(text)};
}

/// The reset is repeated at each attempt, because the device does not show whether it was reset. If the reset fails,
/// the device still gets its driver back, but its record keeps it from the next pod. If somebody has bound another
/// driver since, that driver stays.
void ResetAfterKind::revert(const Recorded& step, const Undo& undo) {
    const auto address = BusAddress::parse(step.device);
    if (!address || !kernel::device_exists(*address)) return;
    const std::string present = kernel::driver_of(*address);
    if (is_user_space_driver(present)) return;
    const std::string by_now = present.empty() ? step.driver : present;
    auto rdma = Socket::find_rdma(undo.call.deadline);
    Socket* const socket = rdma ? &*rdma : nullptr;
    const auto uverbs = list_uverbs_in_driver_order(*address, socket);
    std::string failure = reset_alone(*address, socket, undo);
    if (!failure.empty()) failure += fix_for(*address);
    RdmaDevices made;
    const std::string unbound = failure_of([&] {
        const base::FileLock lock = undo.call.records.lock_rdma(undo.call.deadline);
        if (bind_again(*address, by_now) && by_now == step.driver)
            made = await_devices(step, *address, uverbs, socket, undo);
    });
    if (!made.empty()) restore_names(made, step, *address, *socket, undo);
    if (!unbound.empty()) failure += fmt::format("{}{}", failure.empty() ? "" : "; ", unbound);
    if (!failure.empty()) throw base::Error(failure);
}

} // namespace rdmanet::attach
