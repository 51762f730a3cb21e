// What the kernel offers for RDMA as a whole: its mode, and copies on fork.
#include "checks.hpp"
#include "distribution.hpp"
#include "files.hpp"
#include "modules.hpp"

#include <rdmanet/base/text.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <optional>

namespace rdmanet::doctor {
namespace {

using kernel::RdmaNetnsMode;

std::string_view netns_mode_name(RdmaNetnsMode mode) {
    return mode == RdmaNetnsMode::shared ? "shared" : "exclusive";
}

void check_kernel_version(const Context& context, Findings& found) {
    if (context.inventory.rdma_system && !context.inventory.rdma_system->netns_mode)
        found.info("",
                   fmt::format("kernel {} cannot move RDMA devices between namespaces, so pods can only share them",
                               context.inventory.kernel),
                   "share them with \"attach\": \"macvlan\" or \"ipvlan\", or boot Linux 5.3 or later");
}

/// An option of ib_core, and where it is.
struct ModeOption {
    RdmaNetnsMode mode = RdmaNetnsMode::shared; // the kernel's default
    std::string value;                          // "0"; empty without an option
    std::string file;                           // empty if it is on the kernel's command line
};

/// kstrtobool(), lib/kstrtox.c
std::optional<RdmaNetnsMode> parse_mode(std::string_view value) {
    const std::string begin = base::to_lower(value.substr(0, 2));
    if (begin.starts_with('0') || begin.starts_with('n') || begin.starts_with('f') || begin == "of")
        return RdmaNetnsMode::exclusive;
    if (begin.starts_with('1') || begin.starts_with('y') || begin.starts_with('t') || begin == "on")
        return RdmaNetnsMode::shared;
    return std::nullopt;
}

/// The last option in a text counts.
void read_option(std::string_view text, const std::string& file, ModeOption& option) {
    constexpr std::string_view kKey = "netns_mode=";
    const std::size_t at = text.rfind(kKey);
    if (at == std::string_view::npos) return;
    const std::string_view rest = text.substr(at + kKey.size());
    const std::string_view value = rest.substr(0, rest.find_first_of(" \t\n"));
    if (const auto mode = parse_mode(value)) option = {.mode = *mode, .value = std::string(value), .file = file};
}

/// What modprobe loads ib_core with.
ModeOption find_option_in_files(const Context& context) {
    ModeOption option;
    for (const char* directory : {"/usr/lib/modprobe.d", "/run/modprobe.d", "/etc/modprobe.d"})
        for (const std::string& name : names_in(context.path(directory))) {
            const std::string file = fmt::format("{}/{}", directory, name);
            if (!name.ends_with(".conf")) continue;
            for (const std::string& line : lines_of(context.path(file)))
                if (line.starts_with("options ib_core ")) read_option(line, file, option);
        }
    return option;
}

/// An option on the kernel's command line counts more than files do.
void read_command_line(const Context& context, ModeOption& option) {
    const std::string command_line = content_of(context.path("/proc/cmdline"));
    if (const std::size_t at = command_line.rfind("ib_core.netns_mode="); at != std::string::npos)
        read_option(std::string_view(command_line).substr(at), {}, option);
}

/// Seconds of the epoch (proc(5), /proc/stat).
std::optional<std::int64_t> time_of_boot(const Context& context) {
    constexpr std::string_view kKey = "btime ";
    for (const std::string& line : lines_of(context.path("/proc/stat")))
        if (line.starts_with(kKey)) return base::parse_integer<std::int64_t>(line.substr(kKey.size()));
    return std::nullopt;
}

/// By the time that nobody can set: `cp -p`, rsync and packages keep the time of the file that they copy.
bool is_older_than_boot(const Context& context, const std::string& file) {
    struct stat status {};
    const auto boot = time_of_boot(context);
    return boot && ::stat(context.path(file).c_str(), &status) == 0 && status.st_ctime < *boot;
}

/// modprobe has not seen the option, although it is older than the boot: the initramfs has a copy of /etc/modprobe.d,
/// from the time when the initramfs was made. Whether somebody changed the mode later is not known: the parameter in
/// /sys/module/ib_core shows the present mode (ib_devices_shared_netns, drivers/infiniband/core/device.c).
void report_initramfs(const Context& context, const ModeOption& option, RdmaNetnsMode mode, Findings& found) {
    found.warning(
        "",
        fmt::format("rdma netns mode is {}, although netns_mode={} in {} is older than this boot: ib_core was "
                    "probably loaded from the initramfs, without the option",
                    netns_mode_name(mode), option.value, option.file),
        fmt::format("{}, then reboot. If somebody only changed the mode by hand: `rdma system set netns {}` "
                    "before any pod starts",
                    initramfs_command(distribution_of(context)), netns_mode_name(option.mode)));
}

void report_next_boot(RdmaNetnsMode mode, RdmaNetnsMode next, const std::string& fix, Findings& found) {
    found.warning("",
                  fmt::format("rdma netns mode is {} now, and will be {} after the next boot", netns_mode_name(mode),
                              netns_mode_name(next)),
                  fix);
}

/// modprobe does not load a part of the kernel, so only the kernel's command line has options for it.
void check_built_in(const Context& context, RdmaNetnsMode mode, Findings& found) {
    ModeOption option;
    read_command_line(context, option);
    const ModeOption in_files = find_option_in_files(context);
    if (option.mode != mode)
        report_next_boot(mode, option.mode,
                         mode == RdmaNetnsMode::exclusive
                             ? "add ib_core.netns_mode=0 to the kernel's command line: ib_core is part of this kernel, "
                               "so /etc/modprobe.d does not apply"
                             : "remove ib_core.netns_mode=0 from the kernel's command line, or set the mode: `rdma "
                               "system set netns exclusive` before any pod starts",
                         found);
    else if (!in_files.file.empty() && in_files.mode != mode)
        found.warning(
            "",
            fmt::format("rdma netns mode is {}, and netns_mode={} in {} does not apply: ib_core is part of kernel {}",
                        netns_mode_name(mode), in_files.value, in_files.file, context.inventory.kernel),
            fmt::format("add ib_core.netns_mode={} to the kernel's command line, and reboot", in_files.value));
}

void check_mode_at_boot(const Context& context, Findings& found) {
    const auto& system = context.inventory.rdma_system;
    const auto mode = system ? system->netns_mode : std::nullopt;
    if (!mode) return; // the kernel has no such option, see check_kernel_version()
    if (is_built_in(context, "ib_core")) return check_built_in(context, *mode, found);
    ModeOption option = find_option_in_files(context);
    read_command_line(context, option);
    if (option.mode == *mode) return;
    if (!option.file.empty() && is_older_than_boot(context, option.file))
        return report_initramfs(context, option, *mode, found);
    report_next_boot(*mode, option.mode,
                     *mode == RdmaNetnsMode::exclusive
                         ? "write \"options ib_core netns_mode=0\" to /etc/modprobe.d/ib_core.conf"
                         : "remove netns_mode=0 from /etc/modprobe.d and from the kernel's command line, or set the "
                           "mode: `rdma system set netns exclusive` before any pod starts",
                     found);
}

/// ibv_is_fork_initialized(3) and ibv_fork_init(3) of rdma-core: without copies on fork, the parent may get the copy
/// of a page and the child the one that the NIC writes to.
void check_copy_on_fork(const Context& context, Findings& found) {
    if (context.inventory.rdma_system && !context.inventory.rdma_system->copies_on_fork)
        found.info("",
                   fmt::format("kernel {} does not copy registered memory on fork: a program that forks may lose what "
                               "the NIC writes",
                               context.inventory.kernel),
                   "set RDMAV_FORK_SAFE=1 for programs that fork, or boot Linux 5.13 or later");
}

constexpr Check kSystemChecks[] = {
    {{"kernel-version", Layer::rdma, "whether the kernel can move RDMA devices"}, check_kernel_version},
    {{"mode-at-boot", Layer::rdma, "RDMA mode now and after the next boot"}, check_mode_at_boot},
    {{"copy-on-fork", Layer::rdma, "programs that fork with registered memory"}, check_copy_on_fork},
};

} // namespace

std::span<const Check> rdma_system_checks() {
    return kSystemChecks;
}

} // namespace rdmanet::doctor
