#include "claims.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>

namespace rdmanet::ipam {
namespace {

std::string list_of_ranges(const Config& config) {
    std::vector<std::string> texts;
    texts.reserve(config.ranges.size());
    for (const ConfiguredRange& range : config.ranges) texts.push_back(range.range.to_string());
    return texts.empty() ? "it has none" : base::join(texts);
}

/// Says why no range gives the address, although an attachment gets an address from each range.
std::string refuse(const base::IpAddress& address, const Config& config) {
    for (const ConfiguredRange& range : config.ranges) {
        if (range.range.contains(address))
            return fmt::format(
                "requested address {} cannot be leased: another requested address is from the same range, "
                "{}, which gives one address to an attachment: request only one of them",
                address, range.range);
        if (range.gateway == address)
            return fmt::format("requested address {} cannot be leased: it is the gateway of range {}: request another "
                               "address",
                               address, range.range);
        for (const Route& route : config.routes)
            if (route.gateway == address)
                return fmt::format("requested address {} cannot be leased: it is the gateway of route {}: request "
                                   "another address",
                                   address, route.destination);
        if (address.family() == range.range.family() && range.range.bounds().contains(address.value()))
            return fmt::format("requested address {} cannot be leased: it is excluded from range {}: request another "
                               "address",
                               address, range.range);
    }
    return fmt::format("requested address {} cannot be leased: it is outside the ranges of this network ({}): request "
                       "an address inside them, or none",
                       address, list_of_ranges(config));
}

void check_length(const RequestedAddress& requested, const Range& range, std::vector<std::string>& warnings) {
    if (!requested.prefix_length || *requested.prefix_length == range.subnet().length()) return;
    warnings.push_back(fmt::format("requested address {}/{} is given with the prefix length of its range, {}",
                                   requested.address, *requested.prefix_length, range.subnet().length()));
}

/// The first range that can give the address and has no other request.
void place(const RequestedAddress& requested, const Config& config, std::vector<Claim>& claims,
           std::vector<std::string>& warnings) {
    for (const Claim& claim : claims)
        if (claim.wanted == requested.address) return; // requested twice
    for (std::size_t at = 0; at < config.ranges.size(); ++at) {
        const Range& range = config.ranges[at].range;
        if (claims[at].wanted || !range.contains(requested.address)) continue;
        claims[at].wanted = requested.address;
        check_length(requested, range, warnings);
        return;
    }
    throw RequestedAddressInvalid(refuse(requested.address, config));
}

} // namespace

Claim claim_for(const ConfiguredRange& range, std::chrono::seconds cooldown) {
    return {.space = range.space,
            .family = range.range.family(),
            .prefix_length = range.range.subnet().length(),
            .usable = range.range.usable(),
            .wanted = std::nullopt,
            .cooldown = cooldown};
}

bool claims_static_addresses(const Config& config) {
    return config.store.kind != StoreKind::pools;
}

std::vector<Claim> claims_for(const Config& config, const std::vector<RequestedAddress>& requested,
                              std::vector<std::string>& warnings) {
    std::vector<Claim> claims;
    for (const ConfiguredRange& range : config.ranges) claims.push_back(claim_for(range, config.cooldown));
    for (const RequestedAddress& address : requested) place(address, config, claims, warnings);
    if (!claims_static_addresses(config)) return claims;
    for (const StaticAddress& address : config.addresses)
        claims.push_back({.space = address.space,
                          .family = address.address.family(),
                          .prefix_length = address.address.length(),
                          .usable = {},
                          .wanted = address.address.address(),
                          .cooldown = config.cooldown});
    return claims;
}

} // namespace rdmanet::ipam
