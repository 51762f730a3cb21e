#include "device_return.hpp"
#include "kinds.hpp"

#include "lookup/device_link.hpp"
#include "lookup/device_ready.hpp"
#include "lookup/device_usable.hpp"
#include "lookup/request.hpp"
#include "lookup/vf.hpp"
#include "owners/claims.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/state/topic.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::BusAddress;
using base::quoted;
using kernel::Socket;
using state::RebindDriver;

/// A VF whose PF cannot be read does not count as a user of the GUID.
std::optional<kernel::VfId> find_user(const base::PciAddress& vf, const base::Guid& guid, kernel::Socket& route) try {
    const auto of = kernel::find_pf_of(vf);
    auto id = of ? find_vf_id(*of, route) : std::nullopt;
    const auto settings = id ? kernel::find_vf(route, *id) : std::nullopt;
    return settings && settings->port_guid == guid ? std::move(id) : std::nullopt;
} catch (const base::Error&) {
    return std::nullopt;
}

/// Who has the VF, and what to do.
std::string describe_owner(const base::PciAddress& vf, const Call& call) {
    for (const state::AttachmentRecord& record : call.records.list_about(state::device_topic(vf.to_string())))
        return fmt::format("which the attachment ({}) has: request another GUID; if that pod is gone, run `rdmanet gc`",
                           state::describe(record));
    return "which no attachment of rdmanet has: request another GUID";
}

/// Throws CniError if another VF of this node has `guid`. The subnet manager would take both VFs for one port
/// (InfiniBand Architecture Specification, volume 1, section 4.1.1: port GUIDs are unique within a subnet). A VF that
/// gets the GUID at the same moment is not seen.
void require_unused_guid(const base::BusAddress& address, const base::Guid& guid, const Call& call,
                         kernel::Socket& route) {
    for (const base::PciAddress& other : kernel::list_vfs()) {
        if (other.to_string() == address.to_string()) continue;
        if (const auto user = find_user(other, guid, route))
            refuse_device(address, fmt::format("cannot get GUID {}, because it is that of device {}, {}, {}", guid,
                                               other, *user, describe_owner(other, call)));
    }
}

/// A driver that is bound again gets the lowest free uverbs numbers, which may be others than before.
void require_same_numbers(const RdmaDevices& made, const std::vector<std::string>& before, kernel::Socket& rdma) {
    const std::vector<std::string> after = list_uverbs(made, rdma);
    for (std::size_t at = 0; at < std::min(before.size(), after.size()); ++at)
        if (!before[at].empty() && !after[at].empty())
            require_same_uverbs(made[at].name, before[at], after[at], "when its driver was bound again for its GUID");
}

/// Whether the VF already has the GUIDs from before. Then the driver need not be bound again, which would take the
/// device from its users. Both GUIDs count, because the PF may have refused one of them at the first attempt.
bool has_guids(const BusAddress& address, const RebindDriver& step, const Undo& undo) {
    Socket route = Socket::open(kernel::Protocol::route, undo.call.deadline);
    const auto link = find_link_on_host(address, route);
    const auto guid = link ? link->port_guid() : std::nullopt;
    if (!guid || guid->to_string() != step.guid) return false;
    auto rdma = Socket::find_rdma(undo.call.deadline);
    const auto devices = rdma ? find_rdma_devices(address, *rdma) : RdmaDevices{};
    return step.node_guid == 0 || devices.empty() || devices.front().node_guid == step.node_guid;
}

/// Binds the driver again, so that it takes the new GUID. Waits for the RDMA devices and the interface that it
/// creates. The lock is held until then, because they get the lowest free numbers when the driver creates them.
RdmaDevices rebind(const BusAddress& address, const std::string& driver, const Call& call) {
    constexpr std::chrono::seconds kTimeout{20};
    Socket rdma = Socket::open(kernel::Protocol::rdma, call.deadline);
    const base::FileLock lock = call.records.lock_rdma(call.deadline);
    const std::vector<std::string> uverbs = list_uverbs(find_rdma_devices(address, rdma), rdma);
    kernel::bind_anew(address, driver);
    auto made = wait_for_devices(address, {.link = true, .rdma_devices = 1}, *call.host, &rdma,
                                 call.deadline.at_most(kTimeout));
    if (!made)
        refuse_device(address,
                      fmt::format("has no RDMA device or no IPoIB interface {} s after driver {} was bound again for "
                                  "its GUID: look into `dmesg`",
                                  kTimeout.count(), quoted(driver)));
    require_same_numbers(*made, uverbs, rdma);
    return *std::move(made);
}

/// The step of RebindAfterKind undoes it.
class Rebind final : public Step {
public:
    Rebind(BusAddress address, std::string driver) : address_(std::move(address)), driver_(std::move(driver)) {}

    void describe(const Call& /*call*/, Description& description) const override {
        description.add.push_back(
            fmt::format("bind driver {} of device {} again, so that it takes the GUID", quoted(driver_), address_));
    }
    void apply(const Call& call, Progress& progress) override { progress.made_rdma = rebind(address_, driver_, call); }

private:
    BusAddress address_;
    std::string driver_;
};

} // namespace

/// The driver must be bound again if the VF does not have the requested GUID yet.
void RebindKind::find(const Call& call, Findings& found) {
    if (call.pod == nullptr || !found.device || !found.device->is_infiniband()) return;
    FoundDevice& device = *found.device;
    const auto present = device.link->port_guid();
    if (!device.vf || !present) return;
    const auto wanted = wanted_settings(*call.request, *call.config).port_guid;
    if (wanted) require_unused_guid(device.address, *wanted, call, *call.host);
    if (wanted && wanted != present) {
        device.rebind_to = kernel::driver_of(device.address);
        auto rdma = kernel::Socket::find_rdma(call.deadline);
        const auto devices = rdma ? find_rdma_devices(device.address, *rdma) : RdmaDevices{};
        if (!devices.empty()) device.node_guid = devices.front().node_guid;
    }
    if (!wanted && present->is_nobodys())
        refuse_device(device.address,
                      fmt::format("has no valid GUID ({}): set \"guid\", or run `ip link set {} vf {} port_guid ...`",
                                  *present, device.vf->id.pf, device.vf->id.number));
    if (!device.rebind_to.empty()) require_no_children(device.address, *device.link, call, *call.host);
}

/// Applying it does nothing. It is undone after the PF has set the old GUIDs again, and then binds the driver again.
std::unique_ptr<Step> RebindAfterKind::make(const Call& /*call*/, const Findings& found) {
    if (!found.device || found.device->rebind_to.empty()) return nullptr;
    const FoundDevice& device = *found.device;
    return std::make_unique<RecordedStep<RebindDriver>>(
        RebindDriver{.device = device.address.to_string(),
                     .driver = device.rebind_to,
                     .guid = device.link->port_guid().value().to_string(),
                     .node_guid = device.node_guid});
}

std::unique_ptr<Step> RebindKind::make(const Call& /*call*/, const Findings& found) {
    if (!found.device || found.device->rebind_to.empty()) return nullptr;
    return std::make_unique<Rebind>(found.device->address, found.device->rebind_to);
}

std::string RebindAfterKind::describe(const Recorded& step) {
    return fmt::format("driver of {}", step.device);
}

ByHand RebindAfterKind::by_hand(const Recorded& step, const base::Deadline& /*deadline*/) {
    const auto address = find_present_device(step.device);
    if (!address) return {.text = "nothing to do, because the device is gone"};
    return {.text = fmt::format("once the pod is gone, run `{}; {}`, so that it takes port GUID {}{} from its PF",
                                unbind_command(*address), bind_command(*address, step.driver), step.guid,
                                step.node_guid != 0
                                    ? fmt::format(" and node GUID {}", base::Guid(step.node_guid).to_string())
                                    : std::string())};
}

void RebindAfterKind::revert(const Recorded& step, const Undo& undo) {
    const auto address = find_present_device(step.device);
    if (!address || has_guids(*address, step, undo)) return;
    const base::FileLock lock = undo.call.records.lock_rdma(undo.call.deadline);
    kernel::bind_anew(*address, step.driver);
}

} // namespace rdmanet::attach
