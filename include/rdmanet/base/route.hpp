// A route as configurations and results name it (CNI specification 1.1, section "Success").
#pragma once

#include <rdmanet/base/ip_address.hpp>

#include <cstdint>
#include <optional>

namespace rdmanet::base {

struct Route {
    IpPrefix destination; // host bits as written
    std::optional<IpAddress> gateway;
    std::optional<std::uint32_t> mtu;
    std::optional<std::uint32_t> advmss;
    std::optional<std::uint32_t> priority;
    std::optional<std::uint32_t> table;
    std::optional<std::uint8_t> scope;
};

} // namespace rdmanet::base
