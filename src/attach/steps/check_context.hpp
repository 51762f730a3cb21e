// What CHECK compares a step with.
#pragma once

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/cni/result.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/rdma.hpp>
#include <rdmanet/kernel/vf.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rdmanet::attach {

/// What is compared: the configuration and prevResult of a CHECK, or what ADD wrote down.
struct Intended {
    const config::Config* config = nullptr;   // of a CHECK; null: the mode is the record's
    std::string kind;                         // as Config::kind()
    std::optional<base::BusAddress> device{}; // that the configuration names
    std::optional<std::uint32_t> mtu{};       // that it asks for: of a representor's at least
    kernel::VfSettings vf{};                  // that it asks of the VF's PF
    config::RdmaPolicy rdma{};
    cni::Result result{};

    [[nodiscard]] bool is_device() const;
};

/// What CHECK answers: found and expected (code 107).
[[noreturn]] void differs(const std::string& what);

/// An RDMA port that isn't active differs where the policy refuses it. `interface` is its own, for the message.
void check_port(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, const std::string& interface);

/// Whether the attachment has an interface to look at: not a device with a driver for user space, nor RDMA alone.
[[nodiscard]] bool has_netdev(const state::AttachmentRecord& record);

} // namespace rdmanet::attach
