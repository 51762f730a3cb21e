// Network interfaces over rtnetlink (linux/if_link.h): look up, create children, change, remove.
#pragma once

#include <rdmanet/base/child_kind.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/guid.hpp>
#include <rdmanet/base/interface_name.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/mac_address.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rdmanet::kernel {

using base::Removed;

using base::Ipoib;
using base::IpoibMode;
using base::Ipvlan;
using base::IpvlanFlag;
using base::IpvlanMode;
using base::Macvlan;
using base::MacvlanMode;
using base::to_string;

/// Settings that stay with an interface when it moves to another namespace. A setting that the kernel does not know
/// is absent.
struct LinkTuning {
    std::optional<std::uint32_t> group;
    std::optional<std::uint32_t> transmit_queue_length; // packets, before the driver's queues
    std::optional<std::uint32_t> gso_max_size;          // bytes
    std::optional<std::uint32_t> gso_max_segments;
    std::optional<std::uint32_t> gro_max_size;      // bytes; since Linux 5.19
    std::optional<std::uint32_t> gso_ipv4_max_size; // the same for IPv4 alone; since Linux 6.3
    std::optional<std::uint32_t> gro_ipv4_max_size;
};

/// A program that examines every packet that an interface receives, before the network stack does.
struct XdpProgram {
    std::uint32_t id = 0;   // the kernel's, unique while it runs
    std::uint32_t mode = 0; // XDP_FLAGS_..._MODE, linux/if_link.h: where it runs; one program for each

    friend bool operator==(const XdpProgram&, const XdpProgram&) = default;
};

/// An interface as the kernel describes it.
struct Link {
    unsigned ifindex = 0;
    std::string name;
    std::string kind;                // "macvlan", "ipvlan", "bond", "vlan", ...; empty for a physical device
    std::uint16_t hardware_type = 0; // ARPHRD_*: 1 Ethernet, 32 InfiniBand
    std::vector<unsigned char> hardware_address; // 6 bytes for Ethernet, 20 for InfiniBand
    unsigned flags = 0;                          // IFF_*, linux/if.h
    unsigned mtu = 0;                            // bytes
    std::optional<unsigned> parent_ifindex;      // in the namespace of parent_netnsid, if that is set
    std::optional<int> parent_netnsid;           // the number that the socket's namespace has for it
    std::optional<unsigned> master_ifindex;      // bond, bridge, VRF, ... that this link is a port of
    std::optional<Macvlan> macvlan;
    std::optional<Ipvlan> ipvlan;
    std::optional<Ipoib> ipoib;                    // also for parents
    std::vector<std::string> altnames;             // since Linux 5.5
    std::optional<std::uint8_t> ipv6_address_mode; // enum in6_addr_gen_mode, linux/if_link.h; absent without IPv6
    std::string alias;                             // a comment of up to 255 bytes; stays when the link moves
    LinkTuning tuning;
    std::string qdisc;           // at the root of its queues; "noop" drops everything until the link is active
    std::string parent_device;   // e.g. "0000:3b:00.2", empty for a virtual device; since Linux 5.14
    std::vector<XdpProgram> xdp; // they stay when the link moves

    [[nodiscard]] bool is_up() const; // administratively
    /// Whether the link is up, has a carrier, and can send. A driver's netif_carrier_on() shows at once
    /// (IFF_LOWER_UP), but packets are dropped until the link watch has run (linkwatch_do_dev(),
    /// net/core/link_watch.c) and the device has its queues. IFF_RUNNING shows the operational state, and counts an
    /// unknown state as up (netif_oper_up()).
    [[nodiscard]] bool can_send() const;
    /// `parent` is an index in the parent's namespace.
    [[nodiscard]] bool is_child_of(unsigned parent) const;
    [[nodiscard]] bool is_promiscuous() const; // requested by the administrator, not by a packet socket
    [[nodiscard]] bool is_all_multicast() const;
    /// nullopt if the hardware address does not have 6 bytes.
    [[nodiscard]] std::optional<base::MacAddress> mac() const;
    /// The hardware address of any length, as the kernel's tools print it; empty if there is none.
    [[nodiscard]] std::string hardware_address_text() const;

    [[nodiscard]] bool is_infiniband() const;
    /// The GID and the GUID of an InfiniBand interface's port. Its hardware address has four bytes of flags and queue
    /// pair, then the GID, whose last eight bytes are the GUID (RFC 4391, section 9.1.1). nullopt for other
    /// interfaces.
    [[nodiscard]] std::optional<base::IpAddress> port_gid() const;
    [[nodiscard]] std::optional<base::Guid> port_guid() const;
};

/// As Link::port_gid(), for a hardware address as text.
[[nodiscard]] std::optional<base::IpAddress> parse_port_gid(std::string_view hardware_address);

/// Finds a link by its name or an alternative name, which share one table in the kernel. Compare Link::name if only
/// the name counts.
[[nodiscard]] std::optional<Link> find_link(Socket& socket, const base::InterfaceName& name);
[[nodiscard]] std::optional<Link> find_link(Socket& socket, unsigned ifindex);
/// Finds a link by an alternative name of up to 127 bytes, which need not be a valid interface name.
[[nodiscard]] std::optional<Link> find_link_by_altname(Socket& socket, std::string_view altname);
/// All links of the namespace, or only the ports of `master_ifindex`. Throws NetlinkError (EAGAIN) if the list
/// changed during each of five readings.
[[nodiscard]] std::vector<Link> list_links(Socket& socket, std::optional<unsigned> master_ifindex = {});

/// The links below `uppers` in the same namespace: the parent of a VLAN, macvlan, ..., and the ports of a bond, team
/// or bridge. The other end of a pair is not below. Throws NetlinkError.
[[nodiscard]] std::vector<Link> list_lower_links(Socket& socket, const std::vector<Link>& uppers);

/// The number by which the socket's namespace knows `other` (Link::parent_netnsid); nullopt if it does not know it.
/// Throws NetlinkError.
[[nodiscard]] std::optional<int> find_netnsid(Socket& socket, const Netns& other);

/// A macvlan, ipvlan or IPoIB child to create.
struct ChildSpec {
    base::InterfaceName name;
    unsigned parent_ifindex = 0;  // in the socket's namespace
    std::string parent_name;      // for messages
    const Netns* netns = nullptr; // where to create the child; the socket's own namespace if null
    std::variant<Macvlan, Ipvlan, Ipoib> kind;
    std::optional<base::MacAddress> mac; // macvlan only; random if unset
    std::optional<unsigned> mtu;         // bytes; the parent's if unset
    bool up = true;
    /// The child's index. With 0 the kernel chooses it. An index must be free in the socket's namespace, and the
    /// kernel then does not check whether the name is taken there (rtnl_newlink(), net/core/rtnetlink.c).
    unsigned ifindex = 0;
};

/// One request: the child appears in its namespace with its final name, address and MTU, and up, or it does not
/// appear. Throws NetlinkError. EEXIST: the name is taken there or in the socket's namespace. EBUSY: the parent has
/// children of the other kind (in any namespace), or is a port of a bridge or bond. EINVAL: the MTU exceeds the
/// parent's, or passthru does not allow other children. EOPNOTSUPP: no such driver. EADDRINUSE/EADDRNOTAVAIL: the
/// MAC.
void add_link(Socket& socket, const ChildSpec& child);

/// Throws NetlinkError.
Removed remove_link(Socket& socket, unsigned ifindex);

enum class AdminState : std::uint8_t { up, down };

/// Unset members stay as they are.
struct LinkChange {
    std::optional<base::InterfaceName> name;
    std::optional<base::MacAddress> mac;
    std::optional<unsigned> mtu; // bytes
    std::optional<AdminState> state;
    std::optional<bool> promiscuous;
    std::optional<bool> all_multicast;
    std::optional<std::uint8_t> ipv6_address_mode; // how the link-local address is made, or that there is none
    std::optional<std::string> alias;              // empty: remove it
    LinkTuning tuning{};
    const Netns* netns = nullptr; // moves the link; the other changes then happen there
};

/// One request, but not a transaction: if the kernel refuses one part (the new name is taken in the target
/// namespace), earlier parts (the move) have happened. Throws NetlinkError.
void change_link(Socket& socket, unsigned ifindex, const LinkChange& change);

/// Makes the kernel send a gratuitous ARP for each IPv4 address when the link comes up or changes its MAC address (the
/// sysctl arp_notify). It is no LinkChange: the kernel would apply it after the link is up (do_setlink(),
/// net/core/rtnetlink.c). Throws NetlinkError.
void announce_ipv4_when_up(Socket& socket, unsigned ifindex);

/// Throws NetlinkError. EBUSY: the program that attached it holds it by a descriptor (BPF_LINK_CREATE), and it ends
/// with that.
void detach_xdp(Socket& socket, unsigned ifindex, const XdpProgram& program);

/// Alternative names (Linux 5.5). Throws NetlinkError. EEXIST: an interface of the namespace has that name.
void add_altname(Socket& socket, unsigned ifindex, std::string_view altname);
void remove_altname(Socket& socket, unsigned ifindex, std::string_view altname);

} // namespace rdmanet::kernel
