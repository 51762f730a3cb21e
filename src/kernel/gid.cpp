#include <rdmanet/kernel/gid.hpp>

#include "directory.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace rdmanet::kernel {
namespace {

using base::concat;
using base::UniqueFd;

/// The files of one port, relative to an open directory: long paths cost more than reading does.
class PortFiles {
public:
    explicit PortFiles(const std::string& path) : directory_(open_directory(path)) {}

    [[nodiscard]] bool exists() const { return static_cast<bool>(directory_); }

    /// nullopt: no such file, or (EINVAL) a table entry that is empty or was emptied meanwhile.
    [[nodiscard]] std::optional<std::string> find(const std::string& name) const {
        return find_line(directory_.get(), name);
    }

    /// nullopt for an empty entry: "gids" shows zeros there, where the "gid_attrs" fail.
    [[nodiscard]] std::optional<Gid> find_gid(unsigned index) const {
        const auto gid = parse_gid(find(concat("gids/", index)).value_or(std::string()));
        return gid && *gid != Gid{} ? gid : std::nullopt;
    }

    [[nodiscard]] GidEntry describe(unsigned index, const Gid& gid) const {
        const std::string type = find(concat("gid_attrs/types/", index)).value_or(std::string());
        return {.index = index,
                .gid = gid,
                .type = type == "RoCE v2"      ? GidType::roce_v2
                        : type == "IB/RoCE v1" ? GidType::ib_or_roce_v1
                                               : GidType::unknown,
                .netdev = find_netdev(index)};
    }

    [[nodiscard]] std::string find_netdev(unsigned index) const {
        return find(concat("gid_attrs/ndevs/", index)).value_or(std::string());
    }

private:
    UniqueFd directory_;
};

} // namespace

Gid gid_of(const base::IpAddress& address) {
    Gid gid{};
    const auto bytes = address.bytes();
    if (!address.is_v4()) return bytes;
    gid[10] = gid[11] = 0xff;
    std::copy_n(bytes.begin(), 4, gid.begin() + 12);
    return gid;
}

std::string to_string(const Gid& gid) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (std::size_t at = 0; at < gid.size(); ++at) {
        if (at != 0 && at % 2 == 0) text += ':';
        text += digits[gid[at] >> 4U];
        text += digits[gid[at] & 15U];
    }
    return text;
}

std::optional<Gid> parse_gid(std::string_view text) {
    Gid gid{};
    if (text.size() != 39) return std::nullopt;
    for (std::size_t group = 0; group < 8; ++group) {
        const auto value = base::parse_integer<std::uint16_t>(text.substr(group * 5, 4), 16);
        if (!value || (group != 7 && text[group * 5 + 4] != ':')) return std::nullopt;
        gid[group * 2] = static_cast<unsigned char>(*value >> 8U);
        gid[group * 2 + 1] = static_cast<unsigned char>(*value & 0xffU);
    }
    return gid;
}

std::string RdmaSysfs::port_path(std::string_view device, unsigned port) const {
    return concat(root_, '/', device, "/ports/", port);
}

unsigned RdmaSysfs::gid_table_length(std::string_view device, unsigned port) const {
    unsigned length = 0;
    for (const std::string& name : list_directory(concat(port_path(device, port), "/gids")))
        if (const auto index = base::parse_integer<unsigned>(name)) length = std::max(length, *index + 1);
    return length;
}

std::vector<GidEntry> RdmaSysfs::list_gids(std::string_view device, unsigned port) const {
    const PortFiles files(port_path(device, port));
    std::vector<GidEntry> entries;
    if (!files.exists()) return entries;
    for (unsigned index = 0, length = gid_table_length(device, port); index < length; ++index)
        if (const auto gid = files.find_gid(index)) entries.push_back(files.describe(index, *gid));
    return entries;
}

std::vector<GidEntry> RdmaSysfs::find_gids(std::string_view device, unsigned port,
                                           std::span<const base::IpAddress> addresses, std::string_view netdev) const {
    const PortFiles files(port_path(device, port));
    std::vector<Gid> wanted;
    std::transform(addresses.begin(), addresses.end(), std::back_inserter(wanted), gid_of);
    std::vector<GidEntry> entries;
    if (!files.exists()) return entries;
    for (unsigned index = 0, length = gid_table_length(device, port); index < length; ++index) {
        const auto gid = files.find_gid(index);
        if (!gid || std::find(wanted.begin(), wanted.end(), *gid) == wanted.end()) continue;
        if (files.find_netdev(index) == netdev) entries.push_back(files.describe(index, *gid));
    }
    return entries;
}

} // namespace rdmanet::kernel
