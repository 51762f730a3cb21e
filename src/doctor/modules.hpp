// The kernel's modules: which ones run, and their files on disk. Nothing is loaded.
#pragma once

#include "context.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::doctor {

struct DriverPair {
    std::string_view net;
    std::string_view rdma;
};
/// Drivers of network functions whose RDMA driver is a module of its own.
inline constexpr DriverPair kDrivers[] = {{"mlx5_core", "mlx5_ib"}, {"mlx4_core", "mlx4_ib"},   {"bnxt_en", "bnxt_re"},
                                          {"ice", "irdma"},         {"i40e", "irdma"},          {"qede", "qedr"},
                                          {"cxgb4", "iw_cxgb4"},    {"hns3", "hns_roce_hw_v2"}, {"mana", "mana_ib"}};

/// Whether a module is loaded or part of the kernel. `module` is its name with '_'.
[[nodiscard]] bool is_loaded(const Context& context, std::string_view module);

/// Whether a module is part of the kernel (modules.builtin, depmod(8)).
[[nodiscard]] bool is_built_in(const Context& context, std::string_view module);

/// Whether an RDMA device of the node has InfiniBand ports.
[[nodiscard]] bool has_infiniband(const Context& context);

/// The files of the running kernel's modules that modprobe knows (modules.dep, depmod(8)).
class ModuleFiles {
public:
    /// Throws base::Error if modules.dep is absent, or must not be read.
    explicit ModuleFiles(const Context& context);

    /// The path on the host, "/lib/modules/6.1.0/kernel/drivers/net/macvlan.ko.xz"; nullopt without a file.
    [[nodiscard]] std::optional<std::string> find(std::string_view module) const;

private:
    std::map<std::string, std::string, std::less<>> files_; // by the name of the module
};

} // namespace rdmanet::doctor
