#include <rdmanet/attach/pod_view.hpp>

#include "owners/liveness.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/link.hpp>

#include <algorithm>

namespace rdmanet::attach {
namespace {

using base::IpPrefix;
using state::AttachmentRecord;

/// None if the pod cannot be entered: `rdmanet state` reports that elsewhere.
std::vector<IpPrefix> duplicates_of(const AttachmentRecord& record) try {
    std::vector<IpPrefix> own = record.prefixes();
    std::erase_if(own, [](const IpPrefix& ip) { return ip.family() != base::Family::v6; });
    const auto ifname = base::InterfaceName::parse(record.key.ifname);
    if (own.empty() || !ifname) return {};
    const auto netns = find_netns_again(record.netns.path, record.netns);
    if (!netns) return {};
    kernel::Socket route = kernel::Socket::open_in(*netns, kernel::Protocol::route, base::Deadline::in(kStatusTimeout));
    const auto link = kernel::find_link(route, *ifname);
    if (!link) return {};
    const auto present = kernel::list_addresses(route, link->ifindex);
    std::erase_if(own, [&](const IpPrefix& ip) {
        return std::none_of(present.begin(), present.end(), [&](const kernel::Address& address) {
            return address.is_duplicate && address.prefix == ip;
        });
    });
    return own;
} catch (const base::Error&) {
    return {};
}

} // namespace

std::vector<ipam::Verdict> view_pods(const std::vector<state::AttachmentRecord>& records, const Node& node) {
    PodProbe pods(node);
    std::vector<ipam::Verdict> verdicts;
    verdicts.reserve(records.size());
    for (const state::AttachmentRecord& record : records) verdicts.push_back(pods.probe(pod_of(record)));
    return verdicts;
}

std::vector<std::vector<IpPrefix>> view_duplicates(const std::vector<AttachmentRecord>& records) {
    std::vector<std::vector<IpPrefix>> views;
    views.reserve(records.size());
    for (const AttachmentRecord& record : records) views.push_back(duplicates_of(record));
    return views;
}

} // namespace rdmanet::attach
