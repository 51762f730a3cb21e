// The kinds of children that an interface can have, with the numbers that the kernel has for their modes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rdmanet::base {

/// enum macvlan_mode, linux/if_link.h.
enum class MacvlanMode : std::uint32_t { private_ = 1, vepa = 2, bridge = 4, passthru = 8, source = 16 };
/// IPVLAN_MODE_*, linux/if_link.h.
enum class IpvlanMode : std::uint16_t { l2 = 0, l3 = 1, l3s = 2 };
/// IPVLAN_F_*, linux/if_link.h. All children of a parent share one flag.
enum class IpvlanFlag : std::uint16_t { bridge = 0, private_ = 1, vepa = 2 };

struct Macvlan {
    MacvlanMode mode = MacvlanMode::bridge;
    /// How many broadcasts may wait on the parent; the kernel's default is 1000. Kernels before 5.12 do not report
    /// it.
    std::optional<std::uint32_t> broadcast_queue_length;

    friend bool operator==(const Macvlan&, const Macvlan&) = default;
};
struct Ipvlan {
    IpvlanMode mode = IpvlanMode::l2;
    IpvlanFlag flag = IpvlanFlag::bridge;

    friend bool operator==(const Ipvlan&, const Ipvlan&) = default;
};
/// IPOIB_MODE_*, linux/if_link.h.
enum class IpoibMode : std::uint16_t { datagram = 0, connected = 1 };
/// A child of an IPoIB interface. For an existing child both members are set.
struct Ipoib {
    /// The partition; the parent's if unset. Bit 15, full membership, is set by the kernel.
    std::optional<std::uint16_t> pkey;
    std::optional<IpoibMode> mode; // datagram if unset

    friend bool operator==(const Ipoib&, const Ipoib&) = default;
};
/// "macvlan mode bridge", "ipvlan mode l2 flag vepa": for messages.
[[nodiscard]] std::string to_string(const Macvlan& macvlan);
[[nodiscard]] std::string to_string(const Ipvlan& ipvlan);
/// "ipoib pkey 0x8001 mode datagram"
[[nodiscard]] std::string to_string(const Ipoib& ipoib);

} // namespace rdmanet::base
