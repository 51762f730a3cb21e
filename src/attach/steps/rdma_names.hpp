// RDMA devices on the host get the names back that they had before their pods.
//
// All devices of a machine share one set of names, whatever namespace they are in (ib_device_rename(),
// drivers/infiniband/core/device.c), and a pod's administrator may rename those in the pod. A name that another device
// has is owed until that one is renamed or comes home. Devices in pods are never renamed.
#pragma once

#include "owners/attachment.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/rdma.hpp>
#include <rdmanet/state/attachment_store.hpp>
#include <rdmanet/state/owed_names.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// Whose names they are, for what follows.
struct NameKeeper {
    const state::AttachmentStore& records;
    const std::string& boot_id;
    const base::Logger& log;
};

[[nodiscard]] inline NameKeeper name_keeper(const Attachment& attachment) {
    return {.records = attachment.records, .boot_id = attachment.node.boot_id, .log = attachment.node.log};
}

/// Gives a device on the host its name. One that is taken is owed from now on, which is a warning. RDMA moves must not
/// be locked. Throws kernel::NetlinkError.
void restore_rdma_name(kernel::Socket& rdma, const kernel::RdmaDevice& device, const base::BusAddress& address,
                       const std::string& name, const NameKeeper& keeper, const base::Deadline& deadline);

/// Gives devices on the host the names that they are owed and that are free by now, or that others have which are owed
/// names themselves. What can't be done is a warning. RDMA moves must not be locked.
void settle_owed_names(const NameKeeper& keeper);

/// Empty where they can't be read, which is a warning.
[[nodiscard]] std::vector<state::OwedName> list_owed_names(const NameKeeper& keeper);

/// The name that a device on the host has when nobody else has it. `owed` is to be listed before the device is.
[[nodiscard]] std::string own_name(const kernel::RdmaDevice& device, const std::vector<state::OwedName>& owed);

/// A sentence for each device on the host that is owed a name.
[[nodiscard]] std::vector<std::string> describe_owed_names(const NameKeeper& keeper);

} // namespace rdmanet::attach
