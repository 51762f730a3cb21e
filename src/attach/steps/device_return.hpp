// How devices come back to the host.
#pragma once

#include "context.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace rdmanet::attach {

/// The result of `find` as soon as it has one, nullopt after the first of the deadlines. It looks once at least.
template <class Find>
auto wait_for(const base::Deadline& until, const base::Deadline& deadline, const Find& find) -> decltype(find()) {
    for (auto pause = std::chrono::milliseconds{1};; pause = std::min(pause * 2, std::chrono::milliseconds{50})) {
        if (auto found = find(); found || until.passed() || deadline.passed()) return found;
        std::this_thread::sleep_for(pause);
    }
}

/// The same while the kernel may still return it.
template <class Find>
auto wait_for_return(const RevertContext& context, const Find& find) -> decltype(find()) {
    return wait_for(context.caller.returned_by, context.deadline, find);
}

/// nullopt if the device has left the machine.
[[nodiscard]] std::optional<base::BusAddress> find_present_device(const std::string& device);

/// Whether it may have a net and an RDMA device. Who took its driver, or was killed between taking and binding it,
/// ended both.
[[nodiscard]] bool has_network_driver(const base::BusAddress& address);

/// Begins the name, of which the rest is a number, of a link that can't have its pod's name on the host.
inline constexpr std::string_view kNameOnReturn = "rdmanet";

/// Takes the link down and moves it out of the pod, under the name that it has, or another if that one is taken on the
/// host; returns that name. Its own comes back with restore_link(). The new name is the pattern by which the kernel
/// finds a free one (__dev_change_net_namespace()).
std::string send_home(const kernel::Link& link, kernel::Socket& inside, kernel::Socket& outside,
                      const kernel::Netns& home);

/// A function that is to be reset, or whose driver is to be bound anew, loses its driver in any case: that ends its net
/// and RDMA devices in whichever namespace the pod has hidden them. False where it must not. Nothing tells whose that
/// namespace is: once a record has outlived its pod, it may be that of a living one, which got the device otherwise.
[[nodiscard]] bool end_by_unbinding(const base::BusAddress& address, const RevertContext& context);

} // namespace rdmanet::attach
