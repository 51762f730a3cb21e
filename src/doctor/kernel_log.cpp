// What the kernel's messages say of drivers.
#include "checks.hpp"
#include "kernel_messages.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace rdmanet::doctor {
namespace {

/// The driver that a message begins with: "mlx5_core 0000:3b:00.0: ...".
std::string_view driver_of(std::string_view message) {
    for (const std::string_view driver :
         {"mlx5_core", "mlx5_ib", "mlx4_core", "bnxt_en", "bnxt_re", "ice", "irdma", "simrnic"})
        if (message.starts_with(driver)) return driver;
    return {};
}

void check_kernel_log(const Context& context, Findings& found) {
    constexpr std::size_t kMany = 200; // in the ring, which holds some minutes of a flood
    std::map<std::string_view, std::size_t> counts;
    for (const std::string& message : read_kernel_messages(context))
        if (const std::string_view driver = driver_of(message); !driver.empty()) ++counts[driver];
    for (const auto& [driver, count] : counts)
        if (count >= kMany)
            found.warning("", fmt::format("the kernel's log has {} messages of {}", count, driver),
                          fmt::format("look at them: `dmesg | grep {}`; they can fill the disk", driver));
}

/// mod_verify_sig() and module_sig_check(), kernel/module/signing.c: the module is not loaded.
bool is_refusal(std::string_view message) {
    return (message.starts_with("Loading of ") && message.ends_with(" is rejected")) ||
           (message.starts_with("Lockdown: ") && message.find("unsigned module loading is restricted") != message.npos);
}

void check_module_signatures(const Context& context, Findings& found) {
    const std::vector<std::string> messages = read_kernel_messages(context);
    const auto refusal = std::find_if(messages.begin(), messages.end(), is_refusal);
    if (refusal != messages.end())
        found.warning("", fmt::format("the kernel refused a module for its signature: \"{}\"", *refusal),
                      "use the drivers of the kernel's package; or sign the module, and enroll the key: `mokutil "
                      "--import KEY`");
}

constexpr Check kLogChecks[] = {
    {{"module-signatures", Layer::kernel, "modules that Secure Boot refused"}, check_module_signatures},
    {{"kernel-log", Layer::kernel, "floods of messages of RDMA drivers"}, check_kernel_log},
};

} // namespace

std::span<const Check> kernel_log_checks() {
    return kLogChecks;
}

} // namespace rdmanet::doctor
