#include <rdmanet/kernel/device_search.hpp>

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/kernel/netns_sysfs.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <set>

namespace rdmanet::kernel {
namespace {

using base::Bus;
using base::BusAddress;

constexpr const char* kNet = "net";
constexpr const char* kRdma = "infiniband";

bool is_there_and_empty(const std::string& directory) {
    return base::open_directory(directory) && base::list_directory(directory).empty();
}

bool has_entries(const NetnsSysfs& sysfs, const BusAddress& address, const char* part) {
    return !base::list_directory(sysfs.path(fmt::format("{}/{}", address.sysfs_path(), part))).empty();
}

void subtract_devices_in(const NetnsSysfs& sysfs, std::vector<ElsewhereDevice>& devices) {
    for (ElsewhereDevice& device : devices) {
        if (device.net && has_entries(sysfs, device.address, kNet)) device.net = false;
        if (device.rdma && has_entries(sysfs, device.address, kRdma)) device.rdma = false;
    }
    std::erase_if(devices, [](const ElsewhereDevice& device) { return !device.net && !device.rdma; });
}

std::optional<Netns> try_netns(const std::string& path) try { return find_netns(path); } catch (const NotANetnsError&) {
    return std::nullopt; // a mount point whose namespace is gone
}

/// The number of a namespace of any kind that a descriptor leads to. The descriptor's link shows the path by which it
/// was opened, not what it is (d_path(), fs/d_path.c, for the root of a mount). File systems whose server may be away
/// are not asked.
std::optional<std::uint64_t> namespace_inode(const std::string& path, std::uint64_t namespaces_device) {
    struct statx status {};
    if (::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &status) != 0)
        return std::nullopt; // the process has ended or closed it
    const bool is_namespace = makedev(status.stx_dev_major, status.stx_dev_minor) == namespaces_device;
    return is_namespace ? std::optional<std::uint64_t>(status.stx_ino) : std::nullopt;
}

/// Empty for a process that the caller may not examine, because the holder of its descriptors could not be named.
std::vector<std::string> list_descriptors(const std::string& directory) try {
    return base::list_directory(directory);
} catch (const base::SystemError& error) {
    if (error.errno_value() != EACCES && error.errno_value() != EPERM) throw;
    return {};
}

} // namespace

std::string ElsewhereDevice::parts_text() const {
    if (net && rdma) return "net device and RDMA device";
    return net ? "net device" : "RDMA device";
}

std::vector<ElsewhereDevice> list_devices_elsewhere() {
    std::vector<ElsewhereDevice> devices;
    for (const Bus bus : {Bus::pci, Bus::auxiliary}) {
        const std::string directory = fmt::format("/sys/bus/{}/devices", bus);
        for (const std::string& name : base::list_directory(directory)) {
            const auto address = BusAddress::parse(name);
            if (!address) continue;
            const bool net = is_there_and_empty(fmt::format("{}/{}/{}", directory, name, kNet));
            const bool rdma = is_there_and_empty(fmt::format("{}/{}/{}", directory, name, kRdma));
            if (net || rdma) devices.push_back({.address = *address, .net = net, .rdma = rdma});
        }
    }
    return devices;
}

std::vector<ElsewhereDevice> subtract_devices_in(const std::vector<std::string>& netns_paths,
                                                 std::vector<ElsewhereDevice> devices) {
    for (const std::string& path : netns_paths) {
        if (devices.empty()) break;
        if (const auto netns = try_netns(path)) subtract_devices_in(NetnsSysfs(*netns), devices);
    }
    return devices;
}

std::vector<HeldNetns> list_held_netns(const LiveNetns& living, const std::string& proc) {
    std::vector<HeldNetns> held;
    std::set<std::uint64_t> seen;
    const std::uint64_t namespaces_device = Netns::current().id().device;
    for (const std::string& name : base::list_directory(proc)) {
        const auto pid = base::parse_integer<unsigned>(name);
        if (!pid) continue;
        const std::string directory = fmt::format("{}/{}/fd", proc, name);
        for (const std::string& fd : list_descriptors(directory)) {
            const std::string path = fmt::format("{}/{}", directory, fd);
            const auto inode = namespace_inode(path, namespaces_device);
            if (inode && !living.paths.contains(*inode) && seen.insert(*inode).second)
                held.push_back({.path = path, .pid = *pid});
        }
    }
    return held;
}

} // namespace rdmanet::kernel
