#include "range_verdict.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/store/lease_file.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace rdmanet::leases {
namespace {

constexpr std::chrono::seconds kGoodFor{30};
constexpr std::size_t kLongestKubeconfig = 1 << 20U;

std::string question(const ipam::Config& config) {
    std::string text = fmt::format("{}\n", config.store.kubeconfig);
    for (const ipam::ConfiguredRange& configured : config.ranges) {
        text += fmt::format("{}\n{}\n", configured.space, configured.range.subnet());
        for (const ipam::Interval& interval : configured.range.usable()) {
            const base::Family family = configured.range.family();
            text +=
                fmt::format("{} {}\n", base::IpAddress(family, interval.first), base::IpAddress(family, interval.last));
        }
    }
    return text;
}

/// A file that is replaced may lead to another server, or have other rights.
std::uint64_t state_of_kubeconfig(const std::string& path) try {
    return path.empty() ? 0 : base::hash64(base::read_regular_file_if_exists(path, kLongestKubeconfig).value_or(""));
} catch (const base::Error&) {
    return 0;
}

/// Runtimes ask before the first ADD of a boot, too.
void make_state_directory(const std::string& path) try {
    base::make_directories(path);
} catch (const base::Error&) { // then the next STATUS asks again
}

std::int64_t seconds_of_boot() {
    return ipam::system_time().boot;
}

} // namespace

RangeVerdictMemory::RangeVerdictMemory(const ipam::Config& config, const Node& node)
    : state_directory_(node.state_directory),
      memory_(node.state_directory, node.boot_id, "range-verdict", question(config)),
      head_(fmt::format("{:016x}\n", state_of_kubeconfig(config.store.kubeconfig))) {}

std::optional<RangeVerdict> RangeVerdictMemory::find() const {
    const auto text = memory_.find();
    if (!text || !text->starts_with(head_)) return std::nullopt;
    const std::string_view rest = std::string_view(*text).substr(head_.size());
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos || end + 1 == rest.size()) return std::nullopt;
    const auto found = base::parse_integer<std::int64_t>(rest.substr(0, end));
    const std::int64_t now = seconds_of_boot();
    if (!found || *found > now || now - *found >= kGoodFor.count()) return std::nullopt;
    const auto kind = static_cast<RangeVerdict::Kind>(rest[end + 1]);
    switch (kind) {
    case RangeVerdict::Kind::room:
    case RangeVerdict::Kind::full:
    case RangeVerdict::Kind::unknown:
    case RangeVerdict::Kind::refused: return RangeVerdict{.kind = kind, .text = std::string(rest.substr(end + 2))};
    }
    return std::nullopt;
}

void RangeVerdictMemory::note(const RangeVerdict& verdict) const {
    make_state_directory(state_directory_);
    memory_.note(fmt::format("{}{}\n{}{}", head_, seconds_of_boot(), static_cast<char>(verdict.kind), verdict.text));
}

} // namespace rdmanet::leases
