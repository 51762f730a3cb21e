#include <rdmanet/base/child_kind.hpp>

#include <rdmanet/base/format.hpp>

#include <string_view>

namespace rdmanet::base {
namespace {

std::string_view name_of(MacvlanMode mode) {
    switch (mode) {
    case MacvlanMode::private_: return "private";
    case MacvlanMode::vepa: return "vepa";
    case MacvlanMode::bridge: return "bridge";
    case MacvlanMode::passthru: return "passthru";
    case MacvlanMode::source: return "source";
    }
    return "unknown";
}

std::string_view name_of(IpvlanMode mode) {
    switch (mode) {
    case IpvlanMode::l2: return "l2";
    case IpvlanMode::l3: return "l3";
    case IpvlanMode::l3s: return "l3s";
    }
    return "unknown";
}

std::string_view name_of(IpvlanFlag flag) {
    switch (flag) {
    case IpvlanFlag::bridge: return "bridge";
    case IpvlanFlag::private_: return "private";
    case IpvlanFlag::vepa: return "vepa";
    }
    return "unknown";
}

} // namespace

std::string to_string(const Macvlan& macvlan) {
    return fmt::format("macvlan mode {}", name_of(macvlan.mode));
}

std::string to_string(const Ipvlan& ipvlan) {
    return fmt::format("ipvlan mode {} flag {}", name_of(ipvlan.mode), name_of(ipvlan.flag));
}

std::string to_string(const Ipoib& ipoib) {
    constexpr unsigned kFullMember = 0x8000;
    std::string text = "ipoib";
    if (ipoib.pkey) text += fmt::format(" pkey {:#06x}", *ipoib.pkey | kFullMember);
    if (ipoib.mode) text += *ipoib.mode == IpoibMode::connected ? " mode connected" : " mode datagram";
    return text;
}

} // namespace rdmanet::base
