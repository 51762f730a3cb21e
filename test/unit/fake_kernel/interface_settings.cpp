#include "shared.hpp"

#include <rdmanet/kernel/sysctl.hpp>

namespace rdmanet::kernel {

std::optional<int> find_sysctl(const base::InterfaceName& interface, Sysctl /*sysctl*/) {
    const auto* found = machine().find(machine().spaces.at(machine().current),
                                       [&](const Link& link) { return link.name == interface.to_string(); });
    return found != nullptr ? std::optional(found->has_ipv6 ? 0 : 1) : std::nullopt;
}

Written write_sysctl(const base::InterfaceName& interface, Sysctl /*sysctl*/, int value) {
    if (machine().change(fmt::format("set {} disable_ipv6 {}", interface, value)))
        machine().netdev(interface.to_string(), machine().current).has_ipv6 = value == 0;
    return Written::yes;
}

void announce_ipv6_changes(const Netns& /*netns*/, const base::InterfaceName& /*interface*/) {}
void enable_ipv6(const Netns& /*netns*/, const base::InterfaceName& /*interface*/) {}
Written enable_optimistic_detection(const Netns& /*netns*/, const base::InterfaceName& /*interface*/) {
    return Written::yes;
}

NetdevFilesRead read_netdev_files(const base::InterfaceName& interface) {
    return {.files = machine().netdev(interface.to_string(), machine().current).files, .unreadable = {}};
}

void write_netdev_file(const base::InterfaceName& interface, const std::string& file, const std::string& value) {
    if (machine().change(fmt::format("set {} {}={}", interface, file, value)))
        machine().netdev(interface.to_string(), machine().current).files[file] = value;
}

std::optional<Ethtool> Ethtool::find(const base::Deadline& deadline) {
    return Ethtool(Socket::open(Protocol::generic, deadline), 0);
}

std::optional<Features> Ethtool::find_features(unsigned ifindex) {
    (void)family_; // only the kernel's functions use it
    return need(machine().space_of(socket_), ifindex, "find features").features;
}

void Ethtool::want_features(unsigned ifindex, const FeatureSet& wanted, const FeatureSet& which) {
    Space& space = machine().space_of(socket_);
    if (!machine().change(fmt::format("set {} features {:x}", name_of(space, ifindex), which.at(0)))) return;
    Features& features = need(space, ifindex, "want features").features;
    for (FeatureSet* set : {&features.wanted, &features.active})
        set->at(0) = (set->at(0) & ~which.at(0)) | (wanted.at(0) & which.at(0));
}

std::string Ethtool::names_of(unsigned /*ifindex*/, const FeatureSet& features) {
    return fmt::format("feature-{:x}", features.at(0));
}

} // namespace rdmanet::kernel
