// Routes and DNS settings: validated, then copied to the result.
#pragma once

#include <rdmanet/base/dns.hpp>
#include <rdmanet/base/route.hpp>
#include <rdmanet/json/reader.hpp>

#include <string>
#include <vector>

namespace rdmanet::ipam {

/// `routes` and `dns` of the `ipam` object. Throw ValueError.
[[nodiscard]] std::vector<base::Route> parse_routes(const json::Reader& ipam, std::vector<std::string>& warnings);
[[nodiscard]] base::Dns parse_dns(const json::Reader& ipam);

} // namespace rdmanet::ipam
