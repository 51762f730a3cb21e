#include "support/netns_lines.hpp"
#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

namespace rdmanet::test {
namespace {

using Bytes = std::string_view;
using Types = std::initializer_list<int>;

template <class Value>
Value read_as(Bytes bytes) {
    Value value{};
    std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
    return value;
}

template <class Value>
Bytes bytes_of(const Value& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Answers without netlink's header. Empty if the kernel does not know the request.
std::vector<std::string> ask(int protocol, int request, Bytes body, std::uint16_t more_flags = NLM_F_DUMP) {
    const base::UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_LENGTH(body.size()));
    header.nlmsg_type = static_cast<std::uint16_t>(request);
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | more_flags);
    const std::string message = concat(bytes_of(header), body);
    if (::send(socket.get(), message.data(), message.size(), 0) < 0) throw base::SystemError("ask the kernel", errno);
    constexpr std::size_t kSize = 65536;
    const auto buffer = std::make_unique_for_overwrite<nlmsghdr[]>(kSize / sizeof(nlmsghdr));
    std::vector<std::string> answers;
    for (;;) {
        const ssize_t count = ::recv(socket.get(), buffer.get(), kSize, 0);
        if (count < 0) throw base::SystemError("listen to the kernel", errno);
        auto rest = static_cast<unsigned>(count);
        for (const nlmsghdr* each = buffer.get(); NLMSG_OK(each, rest); each = NLMSG_NEXT(each, rest)) {
            if (each->nlmsg_type == NLMSG_DONE) return answers;
            const Bytes content(static_cast<const char*>(NLMSG_DATA(each)), each->nlmsg_len - NLMSG_HDRLEN);
            if (each->nlmsg_type == NLMSG_ERROR) {
                const int error = -read_as<int>(content);
                if (error == 0 || error == EOPNOTSUPP || error == EINVAL) return answers;
                throw base::SystemError(concat("netlink request ", request), error);
            }
            answers.emplace_back(content);
            if (more_flags == 0) return answers;
        }
    }
}

class Attributes {
public:
    explicit Attributes(Bytes bytes) {
        while (bytes.size() >= sizeof(rtattr)) {
            const auto head = read_as<rtattr>(bytes);
            if (head.rta_len < sizeof head || head.rta_len > bytes.size()) break;
            list_.emplace_back(head.rta_type & NLA_TYPE_MASK, bytes.substr(sizeof head, head.rta_len - sizeof head));
            bytes.remove_prefix(std::min<std::size_t>(bytes.size(), RTA_ALIGN(head.rta_len)));
        }
    }

    /// Empty if it is absent.
    [[nodiscard]] Bytes operator[](int type) const {
        for (const auto& [each, value] : list_)
            if (each == type) return value;
        return {};
    }
    [[nodiscard]] std::string text(int type) const {
        const Bytes value = (*this)[type];
        return std::string(value.substr(0, value.find('\0')));
    }
    [[nodiscard]] auto begin() const { return list_.begin(); }
    [[nodiscard]] auto end() const { return list_.end(); }

private:
    std::vector<std::pair<int, Bytes>> list_;
};

/// A number, a text, or hexadecimal digits.
std::string shown(Bytes value) {
    const bool text = value.size() > 1 && value.back() == '\0' &&
                      std::all_of(value.begin(), value.end() - 1, [](unsigned char c) { return std::isprint(c) != 0; });
    if (text) return std::string(value.substr(0, value.size() - 1));
    if (value.size() == 4) return concat(read_as<std::uint32_t>(value));
    std::string digits;
    for (const unsigned char byte : value) {
        digits += "0123456789abcdef"[byte >> 4];
        digits += "0123456789abcdef"[byte & 15];
    }
    return digits;
}

/// " 4=1500": attributes by their numbers in the kernel's headers.
std::string list(const Attributes& attributes, Types skipped) {
    std::string text;
    for (const auto& [type, value] : attributes)
        if (std::find(skipped.begin(), skipped.end(), type) == skipped.end())
            text += concat(' ', type, '=', shown(value));
    return text;
}

std::string address_text(int family, Bytes address) {
    char text[INET6_ADDRSTRLEN] = "default";
    if (!address.empty()) (void)::inet_ntop(family, address.data(), text, sizeof text);
    return text;
}

struct Link {
    std::string name;
    unsigned flags;
    unsigned type;
    std::uint8_t state; // RFC 2863
    bool has_carrier_state;
    bool makes_link_local;

    [[nodiscard]] bool runs() const { return (flags & IFF_UP) != 0 && (flags & IFF_LOWER_UP) != 0; }
};

struct Address {
    int index;
    std::string text;
    unsigned flags;
    bool link_local;
};

class Reading {
public:
    explicit Reading(Numbers numbers) : numbers_(numbers) {
        struct {
            ifinfomsg header;
            rtattr attribute;
            std::uint32_t mask;
        } request{{}, {sizeof(rtattr) + sizeof(std::uint32_t), IFLA_EXT_MASK}, RTEXT_FILTER_VF};
        const auto links = ask(NETLINK_ROUTE, RTM_GETLINK, bytes_of(request));
        for (const std::string& link : links) note_link(link); // first, because others have numbers of them
        for (const std::string& link : links) add_link(link);
        for (const std::string& each : ask(NETLINK_ROUTE, RTM_GETADDR, bytes_of(ifaddrmsg{}))) add_address(each);
        for (const std::string& each : ask(NETLINK_ROUTE, RTM_GETROUTE, bytes_of(rtmsg{}))) add_route(each);
        ndmsg ipv4{};
        ipv4.ndm_family = AF_INET;
        for (const std::string& each : ask(NETLINK_ROUTE, RTM_GETNEIGH, bytes_of(ipv4))) add_neighbour(each);
        for (const std::string& each : ask(NETLINK_ROUTE, RTM_GETRULE, bytes_of(fib_rule_hdr{})))
            result_.lines.push_back(concat("rule ", shown(Bytes(each).substr(0, sizeof(fib_rule_hdr))),
                                           list(Attributes(Bytes(each).substr(sizeof(fib_rule_hdr))), {})));
        add_pending();
    }

    NetnsLines result() && { return std::move(result_); }

private:
    void note_link(Bytes message) {
        const auto head = read_as<ifinfomsg>(message);
        const Attributes all(message.substr(sizeof head));
        const std::string kind = Attributes(all[IFLA_LINKINFO]).text(IFLA_INFO_KIND);
        const Attributes ipv6{Attributes(all[IFLA_AF_SPEC])[AF_INET6]};
        constexpr std::size_t kDisabled =
            26 * sizeof(int); // DEVCONF_DISABLE_IPV6; linux/ipv6.h excludes libc's headers
        const Bytes settings = ipv6[IFLA_INET6_CONF];
        const bool enabled = settings.size() > kDisabled && read_as<int>(settings.substr(kDisabled)) == 0;
        const bool eui64 = read_as<std::uint8_t>(ipv6[IFLA_INET6_ADDR_GEN_MODE]) == IN6_ADDR_GEN_MODE_EUI64;
        links_[head.ifi_index] = {.name = all.text(IFLA_IFNAME),
                                  .flags = head.ifi_flags,
                                  .type = head.ifi_type,
                                  .state = read_as<std::uint8_t>(all[IFLA_OPERSTATE]),
                                  .has_carrier_state =
                                      (head.ifi_flags & IFF_LOOPBACK) == 0 && kind != "dummy" && kind != "tun",
                                  .makes_link_local = enabled && eui64 && head.ifi_type == ARPHRD_ETHER};
    }

    /// The interface's number itself if it is one of another namespace.
    std::string name_of(int index) {
        const auto link = links_.find(index);
        return link == links_.end() ? concat("number ", index) : link->second.name;
    }
    std::string name_of(Bytes index) { return index.empty() ? "nothing" : name_of(read_as<int>(index)); }

    /// Without counters, the hardware's resources, and what `ip -details` does not show of IPv4 and IPv6.
    void add_link(Bytes message) {
        const auto head = read_as<ifinfomsg>(message);
        const Attributes all(message.substr(sizeof head));
        const bool elsewhere = !all[IFLA_LINK_NETNSID].empty();
        std::string line =
            concat("link ", name_of(head.ifi_index), (head.ifi_flags & IFF_UP) != 0 ? " up" : " down", " flags ",
                   head.ifi_flags, " on ", elsewhere ? shown(all[IFLA_LINK]) : name_of(all[IFLA_LINK]), " master ",
                   name_of(all[IFLA_MASTER]), " mtu ", shown(all[IFLA_MTU]));
        if (numbers_ == Numbers::compared) line += concat(" number ", head.ifi_index);
        // Of an IPoIB address, the first four bytes are the number of a queue pair. The VF's number is before its address.
        const bool hides = head.ifi_type == ARPHRD_INFINIBAND && numbers_ == Numbers::ignored;
        const auto address = [&](Bytes value, std::size_t before = 0) {
            return shown(value.substr(std::min(hides ? before + 4 : 0, value.size())));
        };
        line += concat(" address ", address(all[IFLA_ADDRESS]), " permanent ", address(all[IFLA_PERM_ADDRESS]));
        const Attributes info(all[IFLA_LINKINFO]);
        line += concat(" kind ", info.text(IFLA_INFO_KIND), list(info, {IFLA_INFO_KIND, IFLA_INFO_XSTATS}), " others",
                       list(all, {IFLA_IFNAME, IFLA_LINK, IFLA_MASTER, IFLA_MTU, IFLA_ADDRESS, IFLA_PERM_ADDRESS,
                                  IFLA_LINKINFO, IFLA_STATS, IFLA_STATS64, IFLA_MAP, IFLA_AF_SPEC, IFLA_CARRIER_CHANGES,
                                  IFLA_CARRIER_UP_COUNT, IFLA_CARRIER_DOWN_COUNT, IFLA_VFINFO_LIST}));
        const Attributes ipv6{Attributes(all[IFLA_AF_SPEC])[AF_INET6]};
        line += concat(" addrgenmode ", shown(ipv6[IFLA_INET6_ADDR_GEN_MODE]));
        unsigned number = 0;
        for (const auto& vf : Attributes(all[IFLA_VFINFO_LIST])) {
            const Attributes settings(vf.second);
            line += concat(" vf ", number++, " address ", address(settings[IFLA_VF_MAC], 4),
                           list(settings, {IFLA_VF_MAC, IFLA_VF_STATS}));
        }
        result_.lines.push_back(std::move(line));
    }

    void add_address(Bytes message) {
        const auto head = read_as<ifaddrmsg>(message);
        const Attributes all(message.substr(sizeof head));
        const Bytes address = all[all[IFA_LOCAL].empty() ? IFA_ADDRESS : IFA_LOCAL];
        const std::string text = address_text(head.ifa_family, address);
        const int index = static_cast<int>(head.ifa_index);
        result_.lines.push_back(concat("address ", text, '/', unsigned{head.ifa_prefixlen}, " dev ", name_of(index),
                                       " scope ", unsigned{head.ifa_scope}, list(all, {IFA_CACHEINFO, IFA_LOCAL})));
        if (head.ifa_family == AF_INET6)
            addresses_.push_back(
                {index, text, read_as<std::uint32_t>(all[IFA_FLAGS]), head.ifa_scope == RT_SCOPE_LINK});
    }

    /// The multicast route of an IPv6 interface appears some time after the interface.
    void add_route(Bytes message) {
        const auto head = read_as<rtmsg>(message);
        if (head.rtm_type == RTN_MULTICAST) return;
        const Attributes all(message.substr(sizeof head));
        const std::string to = address_text(head.rtm_family, all[RTA_DST]);
        if (head.rtm_type == RTN_LOCAL) local_.emplace_back(read_as<int>(all[RTA_OIF]), to);
        result_.lines.push_back(concat("route ", to, '/', unsigned{head.rtm_dst_len}, " dev ", name_of(all[RTA_OIF]),
                                       ' ', shown(message.substr(0, sizeof head)),
                                       list(all, {RTA_DST, RTA_OIF, RTA_CACHEINFO})));
    }

    void add_neighbour(Bytes message) {
        const auto head = read_as<ndmsg>(message);
        if ((head.ndm_state & NUD_PERMANENT) == 0) return;
        const Attributes all(message.substr(sizeof head));
        result_.lines.push_back(concat("neighbour ", address_text(head.ndm_family, all[NDA_DST]), " dev ",
                                       name_of(head.ndm_ifindex), " at ", shown(all[NDA_LLADDR])));
    }

    /// The carrier differs from the state, or the state is still unknown. A port of InfiniBand has yet to join.
    [[nodiscard]] static bool waits_for_link_watch(const Link& link) {
        if ((link.flags & IFF_UP) == 0 || !link.has_carrier_state) return false;
        constexpr std::uint8_t kUnknown = 0;
        constexpr std::uint8_t kDown = 2;
        constexpr std::uint8_t kLowerLayerDown = 3;
        constexpr std::uint8_t kUp = 6;
        if (link.runs()) return link.state == kUnknown || link.state == kDown || link.state == kLowerLayerDown;
        return link.state == kUnknown || link.state == kUp || link.type == ARPHRD_INFINIBAND;
    }

    [[nodiscard]] bool waits_for_link_local(int index, const Link& link) const {
        return link.runs() && link.makes_link_local &&
               std::none_of(addresses_.begin(), addresses_.end(),
                            [&](const Address& each) { return each.index == index && each.link_local; });
    }

    /// Detection ends with a route in the table local. An address of a link without carrier stays tentative.
    [[nodiscard]] bool waits_for_detection(const Address& address) const {
        const auto link = links_.find(address.index);
        if (link == links_.end() || !link->second.runs() || (address.flags & IFA_F_DADFAILED) != 0) return false;
        return (address.flags & IFA_F_TENTATIVE) != 0 ||
               std::find(local_.begin(), local_.end(), std::pair(address.index, address.text)) == local_.end();
    }

    void add_pending() {
        for (const auto& [index, link] : links_)
            if (waits_for_link_watch(link) || waits_for_link_local(index, link)) result_.pending.push_back(link.name);
        for (const Address& address : addresses_)
            if (waits_for_detection(address))
                result_.pending.push_back(concat(name_of(address.index), ": ", address.text));
    }

    Numbers numbers_;
    NetnsLines result_;
    std::map<int, Link> links_;
    std::vector<Address> addresses_;
    std::vector<std::pair<int, std::string>> local_;
};

} // namespace

NetnsLines netns_lines(Numbers numbers) {
    return Reading(numbers).result();
}

std::vector<std::string> rdma_lines(Numbers numbers) {
    std::vector<std::string> lines;
    if (::access("/sys/class/infiniband", F_OK) != 0) return lines;
    const auto request = [](int command) { return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command); };
    const auto add = [&](const std::string& what, const Attributes& all) {
        const bool numbered = numbers == Numbers::compared;
        lines.push_back(
            concat(what, numbered ? concat(" number ", shown(all[RDMA_NLDEV_ATTR_DEV_INDEX])) : "",
                   list(all, {RDMA_NLDEV_ATTR_DEV_INDEX, RDMA_NLDEV_ATTR_DEV_NAME, RDMA_NLDEV_ATTR_NDEV_INDEX})));
    };
    for (const std::string& system : ask(NETLINK_RDMA, request(RDMA_NLDEV_CMD_SYS_GET), {}, 0))
        add("mode", Attributes(system));
    for (const std::string& device : ask(NETLINK_RDMA, request(RDMA_NLDEV_CMD_GET), {})) {
        const Attributes all(device);
        const std::string name = all.text(RDMA_NLDEV_ATTR_DEV_NAME);
        add(concat("device ", name), all);
        const rtattr head{sizeof(rtattr) + sizeof(std::uint32_t), RDMA_NLDEV_ATTR_DEV_INDEX};
        const std::string which = concat(bytes_of(head), all[RDMA_NLDEV_ATTR_DEV_INDEX]);
        for (const std::string& port : ask(NETLINK_RDMA, request(RDMA_NLDEV_CMD_PORT_GET), which)) {
            const Attributes attributes(port);
            add(concat("link ", name, '/', shown(attributes[RDMA_NLDEV_ATTR_PORT_INDEX])), attributes);
        }
    }
    return lines;
}

bool allows_rdma_mode(bool shared) {
    const rtattr head{sizeof(rtattr) + 1, RDMA_NLDEV_SYS_ATTR_NETNS_MODE};
    const std::uint32_t padded = shared ? 1 : 0; // little-endian
    try {
        (void)ask(NETLINK_RDMA, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_SET),
                  concat(bytes_of(head), bytes_of(padded)), NLM_F_ACK);
        return true;
    } catch (const base::SystemError&) {
        return false;
    }
}

} // namespace rdmanet::test
