#include <rdmanet/kernel/pkey.hpp>

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <algorithm>
#include <string_view>

namespace rdmanet::kernel {
namespace {

/// "0x8001"
std::optional<std::uint16_t> parse_pkey(std::string_view text) {
    if (text.starts_with("0x")) text.remove_prefix(2);
    return base::parse_integer<std::uint16_t>(text, 16);
}

} // namespace

std::vector<PkeyEntry> list_pkeys(const RdmaPort& port, const std::string& root) {
    const std::string path = fmt::format("{}/{}/ports/{}/pkeys", root, port.device, port.port);
    const base::UniqueFd directory = base::open_directory(path);
    std::vector<PkeyEntry> entries;
    for (const std::string& name : base::list_directory(path)) {
        const auto index = base::parse_integer<unsigned>(name);
        if (!index) continue;
        const auto pkey = parse_pkey(base::find_line(directory.get(), name).value_or(std::string()));
        // A P_Key without partition bits is invalid (InfiniBand specification, 10.9.1): an empty place.
        if (pkey && (*pkey & ~kFullMember) != 0) entries.push_back({.index = *index, .pkey = *pkey});
    }
    std::sort(entries.begin(), entries.end(), [](const PkeyEntry& a, const PkeyEntry& b) { return a.index < b.index; });
    return entries;
}

std::optional<PkeyEntry> find_partition(const std::vector<PkeyEntry>& table, std::uint16_t pkey) {
    std::optional<PkeyEntry> found;
    for (const PkeyEntry& each : table) {
        if (!is_same_partition(each.pkey, pkey)) continue;
        if ((each.pkey & kFullMember) != 0) return each;
        if (!found) found = each;
    }
    return found;
}

} // namespace rdmanet::kernel
