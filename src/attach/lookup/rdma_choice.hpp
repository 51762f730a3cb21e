// Chooses which RDMA devices of a function move into the pod, and their names there.
#pragma once

#include "rdma_devices.hpp"

namespace rdmanet::attach {

/// Throws CniError if the policy has a choice, because an earlier plugin of the list has already moved the devices.
void refuse_late_choice(const base::BusAddress& address, const config::RdmaPolicy& policy);

struct RdmaSelection {
    RdmaDevices moving{};      // into the pod
    RdmaDevices staying{};     // on the host
    std::string name_in_pod{}; // the new name of the moving device; empty if it keeps its name
};

/// Chooses from the RDMA devices that the function has on the host. Throws CniError, which lists them, if the policy
/// fits none, or gives one name to several.
[[nodiscard]] RdmaSelection choose_rdma(const base::BusAddress& address, const config::RdmaPolicy& policy,
                                        RdmaDevices present);

/// Repeats the choice after the driver was bound again and has created new devices. It goes by their order, not by
/// their names, because udev may not have renamed them yet.
[[nodiscard]] RdmaSelection choose_rdma_again(const base::BusAddress& address, const config::RdmaPolicy& policy,
                                              const RdmaSelection& before, RdmaDevices made);

} // namespace rdmanet::attach
