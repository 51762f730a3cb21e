#include <rdmanet/kernel/rdma_files.hpp>

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>

namespace rdmanet::kernel {
namespace {

/// The files of a class whose names begin with `prefix`. The class also has attributes of its own ("abi_version").
void append_files(const std::string& directory, std::string_view prefix, std::vector<RdmaFile>& files) {
    std::vector<std::string> names = base::list_directory(directory);
    std::sort(names.begin(), names.end());
    for (std::string& name : names) {
        if (!name.starts_with(prefix)) continue;
        const base::UniqueFd attributes = base::open_directory(fmt::format("{}/{}", directory, name));
        auto device = attributes ? base::find_line(attributes.get(), "ibdev") : std::nullopt;
        if (!device) continue; // gone meanwhile
        const auto port = base::parse_integer<unsigned>(base::find_line(attributes.get(), "port").value_or(""));
        files.push_back({.name = std::move(name), .device = *std::move(device), .port = port.value_or(0)});
    }
}

} // namespace

std::vector<RdmaFile> list_rdma_files(const std::string& root) {
    std::vector<RdmaFile> files;
    append_files(fmt::format("{}/infiniband_verbs", root), "uverbs", files);
    append_files(fmt::format("{}/infiniband_mad", root), "umad", files);
    append_files(fmt::format("{}/infiniband_mad", root), "issm", files);
    if (base::open_directory(fmt::format("{}/misc/rdma_cm", root)))
        files.push_back({.name = "rdma_cm", .device = {}, .port = 0});
    return files;
}

} // namespace rdmanet::kernel
