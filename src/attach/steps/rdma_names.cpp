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
using state::OwedName;
using Names = std::vector<OwedName>;

bool is_of(const OwedName& owed, const RdmaDevice& device) {
    return owed.index == device.index && owed.node_guid == device.node_guid;
}

std::optional<RdmaDevice> find_at_home(Socket& rdma, const OwedName& owed) {
    auto device = kernel::find_rdma_device(rdma, owed.index);
    return device && is_of(owed, *device) ? device : std::nullopt;
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
class Settlement {
public:
    Settlement(Socket& rdma, Names owed, const state::AttachmentStore& records)
        : rdma_(rdma), owed_(std::move(owed)), records_(records) {
        std::erase_if(owed_, [&](const OwedName& name) { return is_gone(name); });
    }

    /// Repeats until nothing changes, because each restored name may free another one. Returns the names that still
    /// wait.
    Names settle() {
        const auto pays = [&](const OwedName& name) { return try_pay(name); };
        for (auto paid = std::find_if(owed_.begin(), owed_.end(), pays); paid != owed_.end();
             paid = std::find_if(owed_.begin(), owed_.end(), pays))
            owed_.erase(paid);
        return owed_;
    }

private:
    /// Whether the device is neither on the host nor in a pod: its driver has created others since.
    [[nodiscard]] bool is_gone(const OwedName& owed) const {
        const auto has_it = [&](const state::AttachmentRecord& record) {
            const RdmaDevices moved = moved_devices(record);
            return std::any_of(moved.begin(), moved.end(), [&](const RdmaDevice& one) { return is_of(owed, one); });
        };
        if (find_at_home(rdma_, owed)) return false;
        const auto records = records_.list_about(state::device_topic(owed.device));
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

    [[nodiscard]] bool is_owed_another(const RdmaDevice& device) const {
        return std::any_of(owed_.begin(), owed_.end(),
                           [&](const OwedName& owed) { return is_of(owed, device) && owed.name != device.name; });
    }

    bool try_pay(const OwedName& owed) {
        const auto device = find_at_home(rdma_, owed);
        if (!device || device->name == owed.name) return device.has_value();
        const auto holder = kernel::find_rdma_device(rdma_, owed.name);
        if (holder && !is_owed_another(*holder)) return false;
        if (is_used(*device)) return false;
        if (!holder) return try_rename(rdma_, *device, owed.name);
        return !is_used(*holder) && swap(*device, *holder);
    }

    /// Exchanges the names of two devices. The holder also waits for its own name, and gets this device's until then.
    bool swap(const RdmaDevice& device, const RdmaDevice& holder) {
        if (!try_rename(rdma_, holder, fmt::format("rdmanet{}", holder.index))) return false;
        const bool is_paid = try_rename(rdma_, device, holder.name);
        (void)try_rename(rdma_, holder, is_paid ? device.name : holder.name);
        return is_paid;
    }

    Socket& rdma_;
    Names owed_;
    const state::AttachmentStore& records_;
    std::optional<std::vector<state::AttachmentRecord>> all_records_;
};

/// `owed` are the names in the file. The caller holds the lock of RDMA moves. Returns the names that still wait.
Names settle(Names owed, Socket& rdma, const NameKeeper& keeper) {
    const std::size_t before = owed.size();
    Names rest = Settlement(rdma, std::move(owed), keeper.records).settle();
    const bool is_of_another_boot = before == 0; // or the file is damaged
    if (rest.size() != before || is_of_another_boot) keeper.records.owed_names().save(rest, keeper.boot_id);
    return rest;
}

std::string who_has(const std::string& name, Socket& rdma) {
    return kernel::find_rdma_device(rdma, name) ? "another RDMA device on the host" : "an RDMA device in a pod";
}

} // namespace

void restore_rdma_name(Socket& rdma, const RdmaDevice& device, const base::BusAddress& address, const std::string& name,
                       const NameKeeper& keeper, const base::Deadline& deadline) {
    if (device.name == name || try_rename(rdma, device, name)) return;
    std::string failure;
    try {
        const base::FileLock lock = keeper.records.lock_rdma(deadline);
        Names owed = list_owed_names(keeper);
        if (std::none_of(owed.begin(), owed.end(), [&](const OwedName& one) { return is_of(one, device); })) {
            owed.push_back({address.to_string(), device.index, device.node_guid, name});
            keeper.records.owed_names().save(owed, keeper.boot_id);
        }
        owed = settle(std::move(owed), rdma, keeper);
        if (std::none_of(owed.begin(), owed.end(), [&](const OwedName& one) { return is_of(one, device); })) return;
    } catch (const base::Error& error) {
        failure = error.what();
    }
    const std::string holder = who_has(name, rdma);
    keeper.log.warn(
        failure.empty()
            ? fmt::format(
                  "RDMA device of {} stays {}, because {} has its name {}: once that is free, the next ADD, DEL or "
                  "`rdmanet gc` restores it",
                  address, quoted(device.name), holder, quoted(name))
            : fmt::format(
                  "RDMA device of {} stays {}, because {} has its name {}, and nothing will restore it ({}): rename "
                  "both",
                  address, quoted(device.name), holder, quoted(name), failure));
}

void settle_owed_names(const NameKeeper& keeper) try {
    constexpr std::chrono::seconds kTimeout{2};
    if (!keeper.records.owed_names().exist()) return;
    const auto deadline = base::Deadline::in(kTimeout);
    auto rdma = Socket::find_rdma(deadline);
    if (!rdma) return;
    const base::FileLock lock = keeper.records.lock_rdma(deadline);
    (void)settle(list_owed_names(keeper), *rdma, keeper);
} catch (const base::Error& error) {
    keeper.log.warn(fmt::format("cannot restore the names of RDMA devices: {}", error.what()));
}

Names list_owed_names(const NameKeeper& keeper) try {
    return keeper.records.owed_names().load(keeper.boot_id);
} catch (const base::Error& error) {
    keeper.log.warn(fmt::format("cannot read which names of RDMA devices are to be restored: {}", error.what()));
    return {};
}

std::string own_name(const RdmaDevice& device, const Names& owed) {
    const auto found = std::find_if(owed.begin(), owed.end(), [&](const OwedName& one) { return is_of(one, device); });
    return found == owed.end() ? device.name : found->name;
}

std::vector<std::string> describe_owed_names(const NameKeeper& keeper) {
    constexpr std::chrono::seconds kTimeout{2};
    std::vector<std::string> texts;
    const Names owed = list_owed_names(keeper);
    auto rdma = owed.empty() ? std::nullopt : Socket::find_rdma(base::Deadline::in(kTimeout));
    if (!rdma) return texts;
    for (const OwedName& one : owed)
        if (const auto device = find_at_home(*rdma, one))
            texts.push_back(fmt::format("RDMA device {} of {}: {} has its name {}", quoted(device->name), one.device,
                                        who_has(one.name, *rdma), quoted(one.name)));
    return texts;
}

} // namespace rdmanet::attach
