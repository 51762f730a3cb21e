#include "keep_device.hpp"

#include "device_return.hpp"
#include "recorded.hpp"

#include "lookup/device_link.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/device.hpp>

#include <optional>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::concat;
using kernel::Link;
using kernel::Socket;

KeepDevice keep_step(const FoundDevice& device, const base::Deadline& deadline, const base::Logger& log) {
    const std::string address = device.address.to_string();
    return {.before = device.link ? keep_link(address, *device.link, deadline, log) : LinkBefore{.device = address}};
}

/// The MAC of a device without a net device: what its PF decides; empty if that is nothing.
std::string mac_without_link(const FoundDevice& device) {
    if (!device.vf) return {};
    const FoundVf& vf = *device.vf;
    const auto& mac = vf.changes.mac ? vf.changes.mac : vf.before.mac;
    return mac && !mac->is_zero() ? mac->to_string() : std::string();
}

/// Nothing to do: on the way back it is done last.
class KeepDeviceStep final : public Step {
public:
    KeepDeviceStep(KeepDevice step, std::string mac) : step_(std::move(step)), mac_(std::move(mac)) {}

    [[nodiscard]] std::vector<state::Step> recorded() const override { return {to_record(step_)}; }
    void conclude(const AddContext& /*context*/, const Progress& progress, Conclusion& end) const override {
        end.interface.pci_id = step_.before.device;
        if (!progress.link) end.interface.mac = mac_;
    }

private:
    KeepDevice step_;
    std::string mac_;
};

} // namespace

std::string KeepDevice::describe() const {
    return concat("device ", before.device);
}

void KeepDevice::revert(const RevertContext& context) const {
    const auto address = find_present_device(before.device);
    if (!address || before.name.empty() || !has_network_driver(*address)) return;
    Socket route = Socket::open(kernel::Protocol::route, context.deadline);
    // It is home, and drivers may take their time.
    auto link = wait_for(base::Deadline::in(kReturnTimeout), context.deadline,
                         [&] { return find_link_on_host(*address, route); });
    if (!link)
        throw base::Error(concat("its net device is not on the host: `dmesg` says what its driver ",
                                 kernel::driver_of(*address), " misses; bind it anew"));
    restore_link(route, *link, before, context.log);
}

std::unique_ptr<Step> make_keep_device(const AddContext& context, const Findings& found) {
    if (!found.device || context.config.is_rdma_only()) return nullptr;
    return std::make_unique<KeepDeviceStep>(keep_step(*found.device, context.deadline, context.log()),
                                            mac_without_link(*found.device));
}

void check_keep_device(const CheckContext& context) {
    if (!context.wanted.is_device() || !has_step(context.record, kKeepDevice)) return; // an earlier plugin's
    const std::string device = context.record.device();
    const auto address = base::BusAddress::parse(device);
    const auto& wanted = context.wanted.device;
    if (!address || (wanted && *wanted != *address))
        differs(concat("the attachment has device ", device, ", expected ",
                       wanted ? wanted->to_string() : std::string("the address of one")));
}

} // namespace rdmanet::attach
