// What CHECK compares steps with.
#pragma once

#include "lookup/call.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/cni/result.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/kernel/rdma.hpp>
#include <rdmanet/kernel/vf.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

/// What the attachment should be: from the configuration and prevResult of a CHECK, or from the record.
struct Intended {
    const config::Config* config = nullptr;   // of a CHECK; null: the record has the mode
    std::string kind;                         // as Config::kind()
    std::optional<base::BusAddress> device{}; // the one that the configuration names
    std::optional<std::uint32_t> mtu{};       // the configured one; a representor needs at least this
    kernel::VfSettings vf{};                  // the configured VF settings
    config::RdmaPolicy rdma{};
    cni::Result result{};

    [[nodiscard]] bool is_device() const;
};

/// Our part of prevResult: our interface in the pod, and the addresses that ADD gave it.
struct Expected {
    cni::Interface interface {};
    std::vector<base::IpPrefix> ips{};

    [[nodiscard]] std::vector<base::IpAddress> addresses() const;
};

/// An attachment, and what it should be.
struct Comparison {
    const Call& call;
    const Intended& wanted;
    const state::AttachmentRecord& record;
    const kernel::Netns& netns;
    const std::string& netns_path; // for messages
    kernel::Socket& inside;
    const Expected& expected;
    std::optional<kernel::Link> link{};       // the interface in the pod, if it exists
    std::vector<kernel::Address> addresses{}; // of that interface
};

/// The interface in the pod. Throws CniError (code 107) if it does not exist.
[[nodiscard]] const kernel::Link& require_link(const Comparison& compared);

/// What helps against most differences. Repairing an interface by hand is rarely enough: if it was down, for example,
/// its routes and IPv6 addresses are gone (fib_disable_ip(), net/ipv4/fib_frontend.c; addrconf_ifdown(),
/// net/ipv6/addrconf.c).
constexpr const char* kDeletePod = "delete the pod and create it again (a controller does so by itself)";

/// If prevResult is the fault, the pod has none.
constexpr const char* kPassResult = "call CHECK with the result of ADD";

constexpr const char* kBringBackParent = "bring it back or correct \"master\", then delete the pod";
constexpr const char* kLoadRdmaDriver =
    "load the driver again, then delete the pod; `dmesg` may say why the device is gone";

/// Throws the error of CHECK (code 107). `what` says what was found and what was expected, `fix` what to do.
[[noreturn]] void differs(const std::string& what, std::string_view fix);

/// An inactive RDMA port is a difference if the policy refuses it. `interface` is its net device, for the message.
void check_port(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, const std::string& interface);

/// Whether the attachment has an interface. A device with a driver for user space has none, nor has "attach": "rdma".
[[nodiscard]] bool has_netdev(const state::AttachmentRecord& record);

/// The recorded port of the RDMA device on the host that pods share.
[[nodiscard]] kernel::RdmaPort recorded_port(const state::AttachmentRecord& record);

} // namespace rdmanet::attach
