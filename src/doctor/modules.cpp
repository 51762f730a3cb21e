#include "modules.hpp"

#include "files.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>

#include <algorithm>
#include <sstream>
#include <utility>

namespace rdmanet::doctor {
namespace {

constexpr std::size_t kLargestIndex = std::size_t{16} << 20U; // bytes; modules.dep of distributions has less than 1 MiB

/// "kernel/drivers/infiniband/hw/hns/hns-roce-hw-v2.ko.xz": "hns_roce_hw_v2". modprobe takes '-' for '_'.
std::string module_of(std::string_view file) {
    const std::string_view name = file.substr(file.rfind('/') + 1);
    std::string module(name.substr(0, name.find(".ko")));
    std::ranges::replace(module, '-', '_');
    return module;
}

} // namespace

/// Built-in modules have a directory only if they have parameters.
bool is_loaded(const Context& context, std::string_view module) {
    return exists(context.path(fmt::format("/sys/module/{}", module))) || is_built_in(context, module);
}

bool is_built_in(const Context& context, std::string_view module) {
    const std::string file = fmt::format("/lib/modules/{}/modules.builtin", context.inventory.kernel);
    const std::vector<std::string> built_in = lines_of(context.path(file));
    return std::ranges::any_of(built_in, [&](const std::string& line) { return module_of(line) == module; });
}

bool has_infiniband(const Context& context) {
    const auto& devices = context.inventory.devices;
    return std::ranges::any_of(devices, [](const inventory::Device& device) {
        return std::ranges::any_of(device.rdma,
                                   [](const inventory::RdmaDevice& rdma) { return rdma.protocol == "ib"; });
    });
}

ModuleFiles::ModuleFiles(const Context& context) {
    const std::string directory = fmt::format("/lib/modules/{}", context.inventory.kernel);
    const std::string index = fmt::format("{}/modules.dep", directory);
    const auto content = base::read_named_file_if_exists(context.path(index), kLargestIndex);
    if (!content) throw base::Error(fmt::format("{} is not there", index));
    std::istringstream lines(*content);
    for (std::string line; std::getline(lines, line);) {
        std::string file = line.substr(0, line.find(':')); // its dependencies follow
        std::string module = module_of(file);
        if (!file.starts_with('/')) file = fmt::format("{}/{}", directory, file);
        files_.insert_or_assign(std::move(module), std::move(file));
    }
}

std::optional<std::string> ModuleFiles::find(std::string_view module) const {
    const auto at = files_.find(module);
    return at == files_.end() ? std::nullopt : std::optional(at->second);
}

} // namespace rdmanet::doctor
