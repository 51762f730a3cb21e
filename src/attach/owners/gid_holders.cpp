#include "gid_holders.hpp"

#include "liveness.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/gid.hpp>
#include <rdmanet/kernel/link.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

using base::IpAddress;
using base::quoted;
using kernel::GidEntry;
using state::AttachmentRecord;

struct Holder {
    std::string name;
    std::size_t entries = 0;
};

constexpr std::size_t kMostNamed = 3;

/// The interface's present addresses, or those of the record if the namespace cannot be entered.
std::vector<IpAddress> addresses_of(const AttachmentRecord& record, const base::Deadline& deadline) try {
    const auto netns = find_netns_again(record.netns.path, record.netns);
    const auto name = base::InterfaceName::parse(record.key.ifname);
    if (!netns || !name) return record.addresses();
    kernel::Socket inside = kernel::Socket::open_in(*netns, kernel::Protocol::route, deadline);
    std::vector<IpAddress> addresses;
    if (const auto link = kernel::find_link(inside, *name))
        for (const kernel::Address& address : kernel::list_addresses(inside, link->ifindex))
            addresses.push_back(address.prefix.address());
    return addresses;
} catch (const base::Error&) {
    return record.addresses();
}

std::string name_of(const AttachmentRecord& record) {
    const std::string interface = quoted(record.key.ifname);
    if (record.pod.name.empty())
        return fmt::format("container {}, interface {}", quoted(record.key.container_id), interface);
    return fmt::format("pod {}, interface {}", quoted(base::scoped_name(record.pod.pod_namespace, record.pod.name)),
                       interface);
}

/// Removes the attachment's entries from `table` and counts them.
Holder count_and_remove(std::vector<GidEntry>& table, const AttachmentRecord& record, const base::Deadline& deadline) {
    const std::vector<IpAddress> addresses = addresses_of(record, deadline);
    const std::size_t taken = std::erase_if(table, [&](const GidEntry& entry) {
        return entry.netdev == record.key.ifname &&
               std::find(addresses.begin(), addresses.end(), entry.address) != addresses.end();
    });
    return {.name = name_of(record), .entries = taken};
}

/// Counts the entries that no attachment has, for each interface. It is the node's, or in a pod of another plugin.
std::vector<Holder> count_by_interface(const std::vector<GidEntry>& table, const base::Deadline& deadline) {
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    std::vector<Holder> holders;
    for (const GidEntry& entry : table) {
        const auto interface = base::InterfaceName::parse(entry.netdev);
        const bool is_here = interface && kernel::find_link(route, *interface);
        const std::string name = is_here ? fmt::format("the node's interface {}", quoted(entry.netdev))
                                         : fmt::format("interfaces {} without a record", quoted(entry.netdev));
        const auto known =
            std::find_if(holders.begin(), holders.end(), [&](const Holder& holder) { return holder.name == name; });
        if (known == holders.end())
            holders.push_back({.name = name, .entries = 1});
        else
            ++known->entries;
    }
    return holders;
}

std::string to_text(std::vector<Holder> holders) {
    std::stable_sort(holders.begin(), holders.end(),
                     [](const Holder& one, const Holder& other) { return one.entries > other.entries; });
    std::string text;
    std::size_t left = 0;
    for (std::size_t number = 0; number < holders.size(); ++number) {
        const Holder& holder = holders[number];
        if (number < kMostNamed)
            text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", holder.name, holder.entries);
        else
            left += holder.entries;
    }
    return left == 0 ? text : fmt::format("{}, others ({})", text, left);
}

} // namespace

std::string describe_gid_holders(const kernel::RdmaPort& port, const state::AttachmentStore& records,
                                 const base::Deadline& deadline) {
    std::vector<GidEntry> table = kernel::list_gids(port);
    std::vector<Holder> holders;
    for (const AttachmentRecord& record : records.list().records)
        if (record.child() != nullptr && record.rdma_device == port.link_name())
            holders.push_back(count_and_remove(table, record, deadline));
    for (Holder& other : count_by_interface(table, deadline)) holders.push_back(std::move(other));
    std::erase_if(holders, [](const Holder& holder) { return holder.entries == 0; });
    return to_text(std::move(holders));
}

} // namespace rdmanet::attach
