// Records the settings of a net device before it moves into a pod, and restores them.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// How a net device was on the host. Steps of several kinds record it. Fields that an earlier version did not write
/// are absent.
struct LinkBefore {
    std::string device; // bus address, "0000:3b:00.2", or the name of an interface without one
    std::string name;   // of the net device on the host; empty if there is none
    std::string mac;
    unsigned mtu = 0; // bytes
    bool up = false;
    bool promiscuous = false;
    bool all_multicast = false;
    std::optional<std::uint8_t> ipv6_address_mode; // enum in6_addr_gen_mode, linux/if_link.h
    std::vector<std::string> altnames;
    std::optional<std::string> alias; // empty: none
    kernel::LinkTuning tuning;
    std::map<std::string, std::string> files; // in sysfs, see kernel::without_repetitions()
    // The driver's features (kernel::FeatureSet). Their numbers are valid until a reboot. Empty: unknown.
    std::vector<std::uint32_t> wanted_features;
    std::vector<std::uint32_t> active_features;
    std::optional<std::vector<std::uint32_t>> xdp_programs; // program IDs

    [[nodiscard]] static LinkBefore parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
};

/// Reads how the net device is before it moves. Leaves out a setting that cannot be recorded, with a warning.
[[nodiscard]] LinkBefore keep_link(const std::string& device, const kernel::Link& link, const base::Deadline& deadline,
                                   const base::Logger& log);

/// Restores the net device on the host. If the kernel refuses a setting that the host can do without, or accepts it
/// without effect, this only warns. Throws base::Error for other settings.
void restore_link(kernel::Socket& route, const kernel::Link& link, const LinkBefore& before, const base::Logger& log);

} // namespace rdmanet::attach
