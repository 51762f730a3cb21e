#include <rdmanet/kernel/gid.hpp>

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace rdmanet::kernel {
namespace {

using base::IpAddress;

/// The table of one port. Files are named relative to an open directory, because walking the long path costs more
/// than reading.
class TableFiles {
public:
    TableFiles(const RdmaPort& port, const std::string& root)
        : path_(fmt::format("{}/{}/ports/{}", root, port.device, port.port)), directory_(base::open_directory(path_)) {}

    [[nodiscard]] unsigned length() const {
        unsigned length = 0;
        if (!directory_) return length;
        for (const std::string& name : base::list_directory(fmt::format("{}/gids", path_)))
            if (const auto index = base::parse_integer<unsigned>(name)) length = std::max(length, *index + 1);
        return length;
    }

    /// nullopt for an empty place, which "gids" shows as zeros (drivers/infiniband/core/sysfs.c, show_port_gid).
    [[nodiscard]] std::optional<IpAddress> find_address(unsigned index) const {
        const auto address = IpAddress::parse(find(fmt::format("gids/{}", index)));
        return address && !address->is_unspecified() ? address : std::nullopt;
    }

    [[nodiscard]] GidType type_of(unsigned index) const {
        return parse_type(find(fmt::format("gid_attrs/types/{}", index)));
    }

    [[nodiscard]] GidEntry describe(unsigned index, const IpAddress& address) const {
        return {.index = index,
                .address = address,
                .type = type_of(index),
                .netdev = find(fmt::format("gid_attrs/ndevs/{}", index))};
    }

private:
    /// Empty if there is no such file, or if its place in the table is empty now (EINVAL).
    [[nodiscard]] std::string find(const std::string& name) const {
        return base::find_line(directory_.get(), name).value_or(std::string());
    }

    static GidType parse_type(std::string_view text) {
        for (const GidType type : {GidType::ib_or_roce_v1, GidType::roce_v2})
            if (text == to_string(type)) return type;
        return GidType::unknown;
    }

    std::string path_;
    base::UniqueFd directory_;
};

/// Visits entries until `visit` returns false.
template <class Visit>
void for_each_address(const TableFiles& files, unsigned length, const Visit& visit) {
    for (unsigned index = 0; index < length; ++index) {
        const auto address = files.find_address(index);
        if (address && !visit(index, *address)) return;
    }
}

/// The number of types in which the table has its first address. That address is the port's own and exists as long as
/// the port. VLANs on the port's interface have the same link-local address, and entries of their own.
class TypeCounter {
public:
    explicit TypeCounter(const TableFiles& files) : files_(files) {}

    void see(unsigned index, const IpAddress& address) {
        if (!first_) first_ = address;
        if (address != *first_) return;
        const GidType type = files_.type_of(index);
        if (type != GidType::unknown) types_.insert(type);
    }
    [[nodiscard]] std::size_t count() const { return types_.size(); }

private:
    const TableFiles& files_;
    std::optional<IpAddress> first_;
    std::set<GidType> types_;
};

} // namespace

std::string_view to_string(GidType type) {
    switch (type) {
    case GidType::unknown: break;
    case GidType::ib_or_roce_v1: return "IB/RoCE v1";
    case GidType::roce_v2: return "RoCE v2";
    }
    return "unknown";
}

FoundGids find_gids(const RdmaPort& port, std::span<const IpAddress> addresses, const std::string& netdev,
                    const std::string& root) {
    const TableFiles files(port, root);
    FoundGids found;
    TypeCounter types(files);
    for_each_address(files, files.length(), [&](unsigned index, const IpAddress& address) {
        types.see(index, address);
        if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) return true;
        GidEntry entry = files.describe(index, address);
        if (entry.netdev == netdev) found.entries.push_back(std::move(entry));
        return found.entries.size() < addresses.size() * kMostGidTypes;
    });
    found.types = types.count();
    return found;
}

std::vector<GidEntry> list_gids(const RdmaPort& port, const std::string& root) {
    const TableFiles files(port, root);
    std::vector<GidEntry> entries;
    for_each_address(files, files.length(), [&](unsigned index, const IpAddress& address) {
        entries.push_back(files.describe(index, address));
        return true;
    });
    return entries;
}

GidTable read_gid_table(const RdmaPort& port, const std::string& root) {
    const TableFiles files(port, root);
    GidTable table{.length = files.length()};
    TypeCounter types(files);
    for_each_address(files, static_cast<unsigned>(table.length), [&](unsigned index, const IpAddress& address) {
        ++table.used;
        types.see(index, address);
        return true;
    });
    table.types = types.count();
    return table;
}

bool has_free_gids(const RdmaPort& port, std::size_t count, const std::string& root) {
    const TableFiles files(port, root);
    std::size_t found = 0;
    for (unsigned index = files.length(); index > 0 && found < count; --index)
        if (!files.find_address(index - 1)) ++found;
    return found >= count;
}

} // namespace rdmanet::kernel
