// What the kernel's messages say of drivers.
#include "checks.hpp"
#include "kernel_messages.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace rdmanet::doctor {
namespace {

/// The driver that a message begins with: "mlx5_core 0000:3b:00.0: ...".
std::string_view driver_of(std::string_view message) {
    for (const std::string_view driver :
         {"mlx5_core", "mlx5_ib", "mlx4_core", "bnxt_en", "bnxt_re", "ice", "irdma", "simrnic"})
        if (message.starts_with(driver) && message.find_first_of(" :", driver.size()) == driver.size()) return driver;
    return {};
}

/// Drivers say several lines for each VF that they probe, so some hundreds after boot are usual.
void check_kernel_log(const Context& context, Findings& found) {
    constexpr std::chrono::minutes kLately{10};
    constexpr std::size_t kMany = 1000;
    const std::vector<KernelMessage>& messages = context.kernel_log.messages();
    const std::chrono::microseconds newest = messages.empty() ? std::chrono::microseconds(0) : messages.back().time;
    std::map<std::string_view, std::size_t> counts;
    for (const KernelMessage& message : messages)
        if (message.time + kLately >= newest)
            if (const std::string_view driver = driver_of(message.text); !driver.empty()) ++counts[driver];
    for (const auto& [driver, count] : counts)
        if (count >= kMany)
            found.warning("", fmt::format("the kernel's log has {} messages of {} within ten minutes", count, driver),
                          fmt::format("look at them: `dmesg | grep {}`; they can fill the disk", driver));
}

/// mod_verify_sig() and module_sig_check(), kernel/module/signing.c: the module is not loaded.
bool is_refusal(const KernelMessage& message) {
    const std::string_view text = message.text;
    return (text.starts_with("Loading of ") && text.ends_with(" is rejected")) ||
           (text.starts_with("Lockdown: ") && text.find("unsigned module loading is restricted") != text.npos);
}

/// The kernel does not say which module. It matters if one for RDMA is missing.
void check_module_signatures(const Context& context, Findings& found) {
    const std::vector<KernelMessage>& messages = context.kernel_log.messages();
    const auto refusal = std::ranges::find_if(messages, is_refusal);
    if (refusal == messages.end()) return;
    const std::string fix = "use the drivers of the kernel's package; or sign the module, and enroll the key: "
                            "`mokutil --import KEY`";
    const auto is_missing = [&](const char* check) { return found.count_of(check) != 0; };
    if (is_missing("driver") || is_missing("core-modules") || is_missing("rdma-driver"))
        found.warning("", fmt::format("the kernel refused a module for its signature: \"{}\"", refusal->text), fix);
    else
        found.info(
            "", fmt::format("the kernel refused a module for its signature, but none for RDMA: \"{}\"", refusal->text),
            fix);
}

/// The message stays in the log when a later write to sriov_numvfs has succeeded. The log also has those of functions
/// that are no NICs.
bool is_nic_without_vfs(const Context& context, std::string_view address) {
    const auto& devices = context.inventory.devices;
    return std::ranges::any_of(devices, [&](const inventory::Device& device) {
        return device.pci && device.pci->address.to_string() == address && device.pci->vfs == 0;
    });
}

/// sriov_enable(), drivers/pci/iov.c: "mlx5_core 0000:3b:00.0: not enough MMIO resources for SR-IOV". The bridges above
/// the function have no room for its VFs' registers, and the write to sriov_numvfs fails with ENOMEM.
void check_vf_room(const Context& context, Findings& found) {
    constexpr std::string_view kMessage = ": not enough MMIO resources for SR-IOV";
    std::set<std::string> seen; // the message repeats with each attempt
    for (const KernelMessage& message : context.kernel_log.messages()) {
        if (!message.text.ends_with(kMessage)) continue;
        const std::string_view device = std::string_view(message.text).substr(0, message.text.size() - kMessage.size());
        const std::string address(device.substr(device.rfind(' ') + 1));
        if (is_nic_without_vfs(context, address) && seen.insert(address).second)
            found.warning(address, fmt::format("the kernel could not create its VFs: \"{}\"", message.text),
                          "switch on SR-IOV and \"Above 4G decoding\" in the setup of the BIOS; or add pci=realloc to "
                          "the kernel's command line, and reboot; or create fewer VFs");
    }
}

constexpr Check kLogChecks[] = {
    {{"module-signatures", Layer::kernel, "modules that Secure Boot refused"}, check_module_signatures},
    {{"vf-room", Layer::kernel, "PFs whose VFs the kernel could not create"}, check_vf_room},
    {{"kernel-log", Layer::kernel, "floods of messages of RDMA drivers"}, check_kernel_log},
};

} // namespace

std::span<const Check> kernel_log_checks() {
    return kLogChecks;
}

} // namespace rdmanet::doctor
