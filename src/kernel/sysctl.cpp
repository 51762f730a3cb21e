#include <rdmanet/kernel/sysctl.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <fcntl.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace rdmanet::kernel {
namespace {

using base::quoted;
using base::SystemError;

std::string_view name_of(Sysctl sysctl) {
    switch (sysctl) {
    case Sysctl::disable_ipv6: return "disable_ipv6";
    case Sysctl::keep_addr_on_down: return "keep_addr_on_down";
    case Sysctl::optimistic_dad: return "optimistic_dad";
    case Sysctl::use_optimistic: return "use_optimistic";
    case Sysctl::ndisc_notify: return "ndisc_notify";
    }
    throw base::Error("no such sysctl");
}

std::string file_of(const base::InterfaceName& interface, Sysctl sysctl) {
    return fmt::format("/proc/sys/net/ipv6/conf/{}/{}", interface.to_string(), name_of(sysctl));
}

} // namespace

std::optional<int> find_sysctl(const base::InterfaceName& interface, Sysctl sysctl) {
    const std::string path = file_of(interface, sysctl);
    const auto text = base::read_file_if_exists(path, 64);
    if (!text) return std::nullopt;
    const auto value = base::parse_integer<int>(std::string_view(*text).substr(0, text->find('\n')));
    if (!value) throw base::Error(fmt::format("read {}: not a number: {}", path, quoted(*text)));
    return value;
}

Written write_sysctl(const base::InterfaceName& interface, Sysctl sysctl, int value) {
    const std::string path = file_of(interface, sysctl);
    const base::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd && errno == ENOENT) return Written::no_such_sysctl;
    if (!fd) throw SystemError(fmt::format("open {}", path), errno);
    base::write_all(fd.get(), fmt::format("{}", value), path);
    return Written::yes;
}

void announce_ipv6_changes(const Netns& netns, const base::InterfaceName& interface) {
    const NetnsScope scope(netns);
    write_sysctl(interface, Sysctl::ndisc_notify, 1);
}

Written enable_optimistic_detection(const Netns& netns, const base::InterfaceName& interface) {
    const NetnsScope scope(netns);
    const Written written = write_sysctl(interface, Sysctl::optimistic_dad, 1);
    if (written == Written::yes) write_sysctl(interface, Sysctl::use_optimistic, 1);
    return written;
}

void enable_ipv6(const Netns& netns, const base::InterfaceName& interface) {
    const NetnsScope scope(netns);
    // Reads first: in some containers /proc/sys is read-only and the setting is already on.
    for (const auto& each : {*base::InterfaceName::parse("lo"), interface})
        if (find_sysctl(each, Sysctl::disable_ipv6).value_or(0) != 0) write_sysctl(each, Sysctl::disable_ipv6, 0);
    if (find_sysctl(interface, Sysctl::keep_addr_on_down).value_or(1) != 1)
        write_sysctl(interface, Sysctl::keep_addr_on_down, 1);
}

} // namespace rdmanet::kernel
