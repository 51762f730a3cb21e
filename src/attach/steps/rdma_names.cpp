#include "rdma_names.hpp"

#include "owners/claims.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/state/topic.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

namespace rdmanet::attach {
namespace {

using base::quoted;
using kernel::RdmaDevice;
using kernel::Socket;
using state::WaitingName;
using Names = std::vector<WaitingName>;

bool is_of(const WaitingName& waiting, const RdmaDevice& device) {
    return waiting.index == device.index && waiting.node_guid == device.node_guid;
}

bool is_among(const Names& waiting, const RdmaDevice& device) {
    return std::any_of(waiting.begin(), waiting.end(), [&](const WaitingName& one) { return is_of(one, device); });
}

std::optional<RdmaDevice> find_at_home(Socket& rdma, const WaitingName& waiting) {
    auto device = kernel::find_rdma_device(rdma, waiting.index);
    return device && is_of(waiting, *device) ? device : std::nullopt;
}

/// Returns false if another device has the name, or if this device has just moved into a pod.
bool try_rename(Socket& rdma, const RdmaDevice& device, const std::string& name) try {
    kernel::rename_rdma_device(rdma, device.index, name);
    return true;
} catch (const kernel::NetlinkError& error) {
    const int why = error.errno_value();
    if (why != EEXIST && why != EINVAL && why != ENODEV)
        throw; // EINVAL and ENODEV: nldev_set_doit(), drivers/infiniband/core/nldev.c
    return false;
}

/// Restores the names that can be restored now. A device that pods use on the host is not renamed. Each ADD and DEL
/// does this, and a name may wait for ever, so all records are read only if a device could otherwise be renamed.
class NameRestorer {
public:
    NameRestorer(Socket& rdma, Names waiting, const state::AttachmentStore& records)
        : rdma_(rdma), waiting_(std::move(waiting)), records_(records) {
        std::erase_if(waiting_, [&](const WaitingName& name) { return is_gone(name); });
    }

    /// Repeats until nothing changes, because each restored name may free another one. Returns the names that still
    /// wait.
    Names restore() {
        const auto restores = [&](const WaitingName& name) { return try_restore(name); };
        for (auto restored = std::find_if(waiting_.begin(), waiting_.end(), restores); restored != waiting_.end();
             restored = std::find_if(waiting_.begin(), waiting_.end(), restores))
            waiting_.erase(restored);
        return waiting_;
    }

private:
    /// Whether the device is neither on the host nor in a pod: its driver has created others since.
    [[nodiscard]] bool is_gone(const WaitingName& waiting) const {
        const auto has_it = [&](const state::AttachmentRecord& record) {
            const RdmaDevices moved = moved_devices(record);
            return std::any_of(moved.begin(), moved.end(), [&](const RdmaDevice& one) { return is_of(waiting, one); });
        };
        if (find_at_home(rdma_, waiting)) return false;
        const auto records = records_.list_about(state::device_topic(waiting.device));
        return std::none_of(records.begin(), records.end(), has_it);
    }

    /// Whether pods use the device on the host: their records have its name.
    [[nodiscard]] bool is_used(const RdmaDevice& device) {
        if (!all_records_) all_records_ = records_.list().records;
        return std::any_of(all_records_->begin(), all_records_->end(), [&](const state::AttachmentRecord& record) {
            const auto port = kernel::parse_rdma_link_name(record.rdma_device);
            return moved_devices(record).empty() && (port ? port->device : record.rdma_device) == device.name;
        });
    }

    [[nodiscard]] bool waits_for_another_name(const RdmaDevice& device) const {
        return std::any_of(waiting_.begin(), waiting_.end(), [&](const WaitingName& waiting) {
            return is_of(waiting, device) && waiting.name != device.name;
        });
    }

    bool try_restore(const WaitingName& waiting) {
        const auto device = find_at_home(rdma_, waiting);
        if (!device || device->name == waiting.name) return device.has_value();
        const auto holder = kernel::find_rdma_device(rdma_, waiting.name);
        if (holder && !waits_for_another_name(*holder)) return false;
        if (is_used(*device)) return false;
        if (!holder) return try_rename(rdma_, *device, waiting.name);
        return !is_used(*holder) && swap(*device, *holder);
    }

    /// Exchanges the names of two devices. The holder also waits for its own name, and gets this device's until then.
    bool swap(const RdmaDevice& device, const RdmaDevice& holder) {
        if (!try_rename(rdma_, holder, fmt::format("rdmanet{}", holder.index))) return false;
        const bool is_restored = try_rename(rdma_, device, holder.name);
        (void)try_rename(rdma_, holder, is_restored ? device.name : holder.name);
        return is_restored;
    }

    Socket& rdma_;
    Names waiting_;
    const state::AttachmentStore& records_;
    std::optional<std::vector<state::AttachmentRecord>> all_records_;
};

/// `waiting` are the names in the file. The caller holds the lock of RDMA moves. Returns the names that still wait.
Names restore(Names waiting, Socket& rdma, const Call& call) {
    const std::size_t before = waiting.size();
    Names rest = NameRestorer(rdma, std::move(waiting), call.records).restore();
    const bool is_of_another_boot = before == 0; // or the file is damaged
    if (rest.size() != before || is_of_another_boot) call.records.waiting_names().save(rest, call.node.boot_id);
    return rest;
}

std::string who_has(const std::string& name, Socket& rdma) {
    return kernel::find_rdma_device(rdma, name) ? "another RDMA device on the host" : "an RDMA device in a pod";
}

} // namespace

void restore_rdma_name(Socket& rdma, const RdmaDevice& device, const base::BusAddress& address, const std::string& name,
                       const Call& call) {
    if (device.name == name || try_rename(rdma, device, name)) return;
    bool will_be_restored = false;
    std::string failure;
    try {
        const base::FileLock lock = call.records.lock_rdma(call.deadline);
        Names waiting = list_waiting_names(call);
        if (!is_among(waiting, device)) {
            waiting.push_back({address.to_string(), device.index, device.node_guid, name});
            call.records.waiting_names().save(waiting, call.node.boot_id);
        }
        will_be_restored = true;
        if (!is_among(restore(std::move(waiting), rdma, call), device)) return;
    } catch (const base::Error& error) {
        failure = fmt::format(" ({})", error.what());
        will_be_restored = will_be_restored || is_among(list_waiting_names(call), device);
    }
    const std::string end = will_be_restored
                                ? ": once that is free, the next ADD, DEL or `rdmanet gc` restores it" + failure
                                : ", and nothing will restore it" + failure + ": rename both";
    call.log.warn(fmt::format("RDMA device of {} stays {}, because {} has its name {}{}", address, quoted(device.name),
                              who_has(name, rdma), quoted(name), end));
}

void restore_waiting_names(const Call& call) try {
    constexpr std::chrono::seconds kTimeout{2};
    if (!call.records.waiting_names().exist()) return;
    const auto deadline = base::Deadline::in(kTimeout);
    auto rdma = Socket::find_rdma(deadline);
    if (!rdma) return;
    const base::FileLock lock = call.records.lock_rdma(deadline);
    (void)restore(list_waiting_names(call), *rdma, call);
} catch (const std::exception& error) {
    call.log.warn(fmt::format("cannot restore the names of RDMA devices: {}", error.what()));
}

Names list_waiting_names(const Call& call) try {
    return call.records.waiting_names().load(call.node.boot_id);
} catch (const base::Error& error) {
    call.log.warn(fmt::format("cannot read which names of RDMA devices are to be restored: {}", error.what()));
    return {};
}

std::string own_name(const RdmaDevice& device, const Names& waiting) {
    const auto found =
        std::find_if(waiting.begin(), waiting.end(), [&](const WaitingName& one) { return is_of(one, device); });
    return found == waiting.end() ? device.name : found->name;
}

std::vector<std::string> describe_waiting_names(const Call& call) {
    constexpr std::chrono::seconds kTimeout{2};
    std::vector<std::string> texts;
    const Names waiting = list_waiting_names(call);
    auto rdma = waiting.empty() ? std::nullopt : Socket::find_rdma(base::Deadline::in(kTimeout));
    if (!rdma) return texts;
    for (const WaitingName& one : waiting)
        if (const auto device = find_at_home(*rdma, one))
            texts.push_back(fmt::format("RDMA device {} of {}: {} has its name {}", quoted(device->name), one.device,
                                        who_has(one.name, *rdma), quoted(one.name)));
    return texts;
}

} // namespace rdmanet::attach
