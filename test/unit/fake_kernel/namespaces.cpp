#include "shared.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/netns_sysfs.hpp>

#include <sys/socket.h>

#include <cerrno>

namespace rdmanet::kernel {

Netns Netns::current() {
    return Netns(fake::copy_of(machine().spaces.at(machine().current).file));
}

std::optional<Netns> find_netns(const std::string& path) {
    if (!machine().hidden.contains(path))
        for (const auto& [number, space] : machine().spaces)
            if (space.path == path) return Netns(fake::copy_of(space.file));
    return std::nullopt;
}

Netns get_netns(const std::string& path) {
    if (auto found = find_netns(path)) return *std::move(found);
    throw base::SystemError(fmt::format("open network namespace {}", base::quoted(path)), ENOENT);
}

std::optional<Netns> find_other_netns() {
    for (const auto& [number, space] : machine().spaces)
        if (number != machine().current) return Netns(fake::copy_of(space.file));
    return std::nullopt;
}

std::vector<std::string> list_other_netns(const std::string& directory, const Netns& known) {
    std::vector<std::string> paths;
    for (const auto& [number, space] : machine().spaces)
        if (number != known.id().inode && space.path.starts_with(directory + "/")) paths.push_back(space.path);
    return paths;
}

std::uint64_t netns_cookie(const Netns& netns) {
    return machine().spaces.at(netns.id().inode).cookie;
}

std::uint64_t netns_cookie_of_socket(int fd) {
    const auto found = machine().spaces.find(machine().sockets.at(fd));
    return found == machine().spaces.end() ? 0 : found->second.cookie;
}

NetnsScope::NetnsScope(const Netns& target) : home_(fake::copy_of(machine().spaces.at(machine().current).file)) {
    machine().current = target.id().inode;
}

NetnsScope::~NetnsScope() {
    machine().current = fake::number_of(home_.get());
}

LiveNetns list_live_netns(const std::string& /*proc*/) {
    if (machine().on_look) machine().on_look();
    LiveNetns living{.paths = {}, .doubt = machine().doubt};
    for (const auto& [number, space] : machine().spaces)
        living.paths[number] = machine().hidden.contains(space.path) ? "/proc/77/ns/net" : space.path;
    return living;
}

NetnsSysfs::NetnsSysfs(const Netns& netns) : mount_(fake::copy_of(machine().spaces.at(netns.id().inode).file)) {}

std::string NetnsSysfs::path(std::string_view /*directory*/) const {
    return std::to_string(fake::number_of(mount_.get()));
}

std::optional<base::UniqueFd> Socket::open_fd(Protocol protocol) {
    if (protocol == Protocol::rdma && !machine().has_rdma) return std::nullopt;
    base::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    machine().sockets[fd.get()] = machine().current;
    return fd;
}

} // namespace rdmanet::kernel
