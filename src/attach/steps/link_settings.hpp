// Settings of a net device that goes into a pod: how they were, and making them so again.
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

/// As steps of several kinds write it down: how a net device was on the host. Fields that an earlier version did not
/// write are absent.
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
    // Of the driver, kernel::FeatureSet: the numbers hold for the record's boot. Empty: unknown.
    std::vector<std::uint32_t> wanted_features;
    std::vector<std::uint32_t> active_features;
    std::optional<std::vector<std::uint32_t>> xdp_programs; // by the kernel's numbers

    [[nodiscard]] static LinkBefore parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
};

/// How the net device is before it moves. A setting that can't be recorded is left out, with a warning.
[[nodiscard]] LinkBefore keep_link(const std::string& device, const kernel::Link& link, const base::Deadline& deadline,
                                   const base::Logger& log);

/// Makes the net device as it was, when it is home. A setting without which it is as good to the host is a warning,
/// whether the kernel refuses it or takes it without an error and leaves it as it is. Throws base::Error for others.
void restore_link(kernel::Socket& route, const kernel::Link& link, const LinkBefore& before, const base::Logger& log);

} // namespace rdmanet::attach
