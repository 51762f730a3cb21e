#include "parts.hpp"

#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <cctype>
#include <string>

namespace rdmanet::config {
namespace {

/// IB_DEVICE_NAME_MAX without the terminating zero (include/uapi/rdma/rdma_netlink.h).
constexpr std::size_t kLongestRdmaName = 63;
constexpr std::int64_t kLastRdmaPlace = 63;

} // namespace

std::optional<RdmaChoice> parse_rdma_choice(const json::Reader& rdma) {
    const auto device = rdma.find("device");
    if (!device) return std::nullopt;
    if (!device->is_string()) return RdmaChoice(static_cast<std::size_t>(device->integer(0, kLastRdmaPlace)));
    std::string pattern = device->string();
    if (pattern.empty() || pattern.size() > kLongestRdmaName || !base::is_printable_utf8(pattern))
        throw device->unexpected("a number from 0, or the name of an RDMA device (* and ? match anything)");
    return RdmaChoice(std::move(pattern));
}

/// The name becomes a directory name in sysfs, and lists separate names by commas.
std::optional<std::string> parse_rdma_name(const json::Reader& rdma) {
    const auto reader = rdma.find("name");
    if (!reader) return std::nullopt;
    std::string name = reader->string();
    const bool is_plain = std::ranges::all_of(name, [](unsigned char letter) {
        return std::isalnum(letter) != 0 || letter == '_' || letter == '-' || letter == '.';
    });
    if (name.empty() || name.size() > kLongestRdmaName || !is_plain || name.front() == '.')
        throw reader->unexpected("up to 63 letters, digits, \"_\", \"-\" and \".\", not beginning with \".\"");
    return name;
}

} // namespace rdmanet::config
