// What CHECK compares a step with.
#pragma once

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
#include <vector>

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

/// Our part of prevResult: the interface of our name inside the pod, and those addresses of it that ADD made.
struct Expected {
    cni::Interface interface {};
    std::vector<base::IpPrefix> ips{};

    [[nodiscard]] std::vector<base::IpAddress> addresses() const;
};

struct CheckContext {
    const Intended& wanted;
    const state::AttachmentRecord& record;
    const kernel::Netns& netns;
    const std::string& netns_path; // for messages
    const base::Deadline& deadline;
    kernel::Socket& inside;
    const Expected& expected;
    std::optional<kernel::Link> link{};       // the interface in the pod, if there is to be one and it is there
    std::vector<kernel::Address> addresses{}; // that it has
};

/// The interface in the pod. Throws CniError (code 107) if it isn't there.
[[nodiscard]] const kernel::Link& require_link(const CheckContext& context);

/// What CHECK answers: found and expected (code 107).
[[noreturn]] void differs(const std::string& what);

/// An RDMA port that isn't active differs where the policy refuses it. `interface` is its own, for the message.
void check_port(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, const std::string& interface);

/// Whether the attachment has an interface to look at: not a device with a driver for user space, nor RDMA alone.
[[nodiscard]] bool has_netdev(const state::AttachmentRecord& record);

/// Of the RDMA device on the host, which pods share.
[[nodiscard]] kernel::RdmaPort recorded_port(const state::AttachmentRecord& record);

} // namespace rdmanet::attach
