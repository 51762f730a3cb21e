#include "held.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>

namespace rdmanet::cluster {
namespace {

constexpr char kBeforeHash = '-';

} // namespace

bool is_held(const std::vector<ipam::Interval>& held, const base::IpAddress& address) {
    return ipam::difference({{address.value(), address.value()}}, held).empty();
}

void require_not_held(const std::vector<ipam::Interval>& held, const base::IpAddress& requested) {
    if (!is_held(held, requested)) return;
    throw ipam::RequestedAddressTaken(fmt::format("requested address {} is held by the store that the range comes "
                                                  "from: request another one, or delete its pod and run `rdmanet ipam "
                                                  "migrate`",
                                                  requested));
}

std::string describe_held(base::Uint128 count, std::size_t others) {
    if (count == 0) return {};
    return fmt::format(
        "; other stores still have {} of it{}: `rdmanet ipam migrate` shows them", ipam::counted_addresses(count),
        others == 0 ? "" : fmt::format(" and of {}", base::counted(others, "other range", "other ranges")));
}

std::string describe_held(const std::vector<ipam::Interval>& held) {
    return describe_held(ipam::count_of(held));
}

std::string mark_of_pools(const RangeObject& range) {
    std::string said;
    if (range.store == kInPools) {
        if (range.held.empty()) return {};
        for (const ipam::Interval& interval : range.held) said += ipam::to_text(range.subnet.family(), interval) + " ";
    } else {
        said = fmt::format("{} {}", range.uid, range.moves);
    }
    return fmt::format("{}{}{:016x}", range.store, kBeforeHash, base::hash64(said));
}

std::string store_of_mark(const std::string& mark) {
    return mark.substr(0, mark.find(kBeforeHash));
}

} // namespace rdmanet::cluster
