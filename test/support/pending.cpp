#include "support/pending.hpp"
#include "support/concat.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace rdmanet::test {
namespace {

bool has(std::string_view line, std::string_view text) {
    return line.find(text) != std::string_view::npos;
}

/// Parses "host: 5: eth0@if4: <BROADCAST,UP,LOWER_UP> mtu 1500 ... state UP ...", with or without the number.
struct Link {
    std::string where; // "host"
    std::string name;
    std::string flags; // ",BROADCAST,UP,"
    std::string_view rest;

    [[nodiscard]] bool is(std::string_view flag) const { return has(flags, concat(',', flag, ',')); }
    [[nodiscard]] bool in_state(std::string_view state) const { return has(rest, concat(" state ", state, ' ')); }
};

std::optional<Link> parse_link(const std::string& line) {
    const auto flags = line.find(": <");
    const auto end = line.find("> mtu ", flags);
    if (flags == std::string::npos || end == std::string::npos) return std::nullopt;
    const auto name = line.rfind(": ", flags - 1) + 2;
    const auto where = line.find(": ");
    return Link{.where = line.substr(0, where),
                .name = line.substr(name, std::min(line.find('@', name), flags) - name),
                .flags = concat(',', std::string_view(line).substr(flags + 3, end - flags - 3), ','),
                .rest = std::string_view(line).substr(end)};
}

/// Links of these kinds never report a carrier, so their state stays unknown.
bool has_carrier_state(const Link& link) {
    return !link.is("LOOPBACK") && !has(link.rest, "\\    dummy ") && !has(link.rest, "\\    tun ");
}

/// The carrier differs from the state, or the state is still unknown.
bool waits_for_link_watch(const Link& link) {
    if (!link.is("UP") || !has_carrier_state(link)) return false;
    if (link.is("LOWER_UP"))
        return link.in_state("UNKNOWN") || link.in_state("DOWN") || link.in_state("LOWERLAYERDOWN");
    return link.in_state("UNKNOWN") || link.in_state("UP");
}

bool any_starts_with(const std::multiset<std::string>& lines, const std::string& beginning) {
    const auto line = lines.lower_bound(beginning);
    return line != lines.end() && line->starts_with(beginning);
}

bool is_running(const Link& link) {
    return link.is("UP") && link.is("LOWER_UP");
}

/// Parses "host: 5: eth0    inet6 fe80::1/64 scope link ..."
struct Address {
    std::string where;
    std::string name;
    std::string address;
    std::string_view rest;
};

std::optional<Address> parse_ipv6_address(const std::string& line) {
    constexpr std::string_view kFamily = "    inet6 ";
    const auto family = line.find(kFamily);
    if (family == std::string::npos) return std::nullopt;
    const auto name = line.rfind(' ', family - 1) + 1;
    const auto address = family + kFamily.size();
    const auto end = line.find('/', address);
    return Address{.where = line.substr(0, line.find(": ")),
                   .name = line.substr(name, family - name),
                   .address = line.substr(address, end - address),
                   .rest = std::string_view(line).substr(end)};
}

/// An Ethernet link with this mode derives a link-local address from its MAC.
bool waits_for_link_local(const Link& link, const std::vector<Address>& addresses,
                          const std::multiset<std::string>& lines) {
    if (!is_running(link) || !link.in_state("UP") || !has(link.rest, "link/ether ") ||
        !has(link.rest, " addrgenmode eui64"))
        return false;
    if (!any_starts_with(lines, concat(link.where, ": sysctl ipv6/", link.name, "/disable_ipv6 = 0"))) return false;
    return std::none_of(addresses.begin(), addresses.end(), [&](const Address& each) {
        return each.where == link.where && each.name == link.name && has(each.rest, " scope link ");
    });
}

/// Detection ends with a route in the table local. An address of a link without carrier stays tentative.
bool waits_for_detection(const Address& address, const std::vector<Link>& links,
                         const std::multiset<std::string>& lines) {
    if (has(address.rest, " dadfailed ")) return false;
    const bool running = std::any_of(links.begin(), links.end(), [&](const Link& each) {
        return each.where == address.where && each.name == address.name && is_running(each);
    });
    if (!running) return false;
    return has(address.rest, " tentative ") ||
           !any_starts_with(lines, concat(address.where, ": local ", address.address, " dev ", address.name, ' '));
}

} // namespace

std::vector<std::string> still_pending(const std::multiset<std::string>& lines) {
    std::vector<Link> links;
    std::vector<Address> addresses;
    for (const std::string& line : lines) {
        if (auto link = parse_link(line)) links.push_back(std::move(*link));
        if (auto address = parse_ipv6_address(line)) addresses.push_back(std::move(*address));
    }
    std::vector<std::string> pending;
    for (const Link& link : links)
        if (waits_for_link_watch(link) || waits_for_link_local(link, addresses, lines))
            pending.push_back(concat(link.where, ": ", link.name, link.rest));
    for (const Address& address : addresses)
        if (waits_for_detection(address, links, lines))
            pending.push_back(concat(address.where, ": ", address.name, ": ", address.address, address.rest));
    return pending;
}

} // namespace rdmanet::test
