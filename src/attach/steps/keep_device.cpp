#include "keep_device.hpp"

#include "device_return.hpp"
#include "link_settings.hpp"

#include "lookup/device_link.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/netdev_files.hpp>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <vector>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;
using kernel::Link;
using kernel::Socket;

} // namespace

state::KeepDevice keep_step(const DevicePlan& plan, const base::Deadline& deadline, const base::Logger& log) {
    return plan.link ? keep_link(plan.address.to_string(), *plan.link, deadline, log)
                     : state::KeepDevice{.device = plan.address.to_string()};
}

void revert_step(const state::KeepDevice& step, const RevertContext& context) {
    const auto address = find_present_device(step.device);
    if (!address || step.name.empty() || !has_network_driver(*address)) return;
    Socket route = Socket::open(kernel::Protocol::route, context.deadline);
    auto link =
        wait_for_return(context, [&] { return find_link_on_host(*address, route); }); // drivers may take their time
    if (!link)
        throw base::Error(concat("its net device is not on the host: `dmesg` says what its driver ",
                                 kernel::driver_of(*address), " misses; bind it anew"));
    restore_link(route, *link, step, context.log);
}

} // namespace rdmanet::attach
