// Which of a function's RDMA devices go into the pod, and what they are called there.
#pragma once

#include "rdma_devices.hpp"

namespace rdmanet::attach {

/// Throws CniError where the policy chooses, but another entry of the list has chosen and moved already.
void refuse_late_choice(const base::BusAddress& address, const config::RdmaPolicy& policy);

struct RdmaSelection {
    RdmaDevices moving{};      // into the pod
    RdmaDevices staying{};     // on the host all the same
    std::string name_in_pod{}; // of the one that moves; empty: as on the host
};

/// Of the RDMA devices that the function has on the host. Throws CniError that lists them where none is meant, or
/// several are to have one name.
[[nodiscard]] RdmaSelection choose_rdma(const base::BusAddress& address, const config::RdmaPolicy& policy,
                                        RdmaDevices present);

/// The same again of what the driver has made when it was bound anew, by their places: the names may be the kernel's
/// own yet, until udev gives them others.
[[nodiscard]] RdmaSelection choose_rdma_again(const base::BusAddress& address, const config::RdmaPolicy& policy,
                                              const RdmaSelection& before, RdmaDevices made);

} // namespace rdmanet::attach
