#include <rdmanet/cluster/place.hpp>

#include <rdmanet/base/format.hpp>

#include <algorithm>

namespace rdmanet::cluster {
namespace {

/// whereabouts, pkg/storage/kubernetes/ipam.go, normalizeRange() and NormalizeIP().
std::string normalised(std::string text) {
    if (text.ends_with(':')) text.push_back('0');
    std::ranges::replace(text, ':', '-');
    std::ranges::replace(text, '/', '-');
    return text;
}

std::optional<base::IpPrefix> parse_normalised(std::string text) {
    const auto dash = text.rfind('-');
    if (dash == std::string::npos) return std::nullopt;
    std::ranges::replace(text, '-', ':');
    text[dash] = '/';
    return base::IpPrefix::parse(text);
}

/// A space is `network_name`, with '@' and the range behind where addresses are unique within a range only.
std::string with_network(const std::string& space, const std::string& name) {
    const std::string network = space.substr(0, space.find('@'));
    return network.empty() ? name : fmt::format("{}-{}", network, name);
}

} // namespace

Place place_of(const ipam::Lease& lease) {
    const base::IpPrefix& address = lease.address;
    return {.space = lease.space, .subnet = base::IpPrefix::make(address.network(), address.length()).value()};
}

std::string pool_name(const Place& place) {
    return with_network(place.space, normalised(fmt::format("{}/{}", place.subnet.network(), place.subnet.length())));
}

std::optional<base::IpPrefix> subnet_of_pool(const std::string& space, const std::string& name) {
    const std::string before = with_network(space, "");
    return name.starts_with(before) ? parse_normalised(name.substr(before.size())) : std::nullopt;
}

/// whereabouts, pkg/storage/kubernetes/ipam.go, IPPoolName().
bool is_pool_of(const std::string& space, const base::IpPrefix& subnet, const std::string& name,
                const std::function<bool(const std::string& node)>& is_node) {
    if (const auto whole = subnet_of_pool(space, name)) return overlap(*whole, subnet);
    const std::string before = with_network(space, "");
    if (!name.starts_with(before)) return false;
    const std::string text = name.substr(before.size());
    for (auto dash = text.find('-'); dash != std::string::npos; dash = text.find('-', dash + 1)) {
        const auto slice = parse_normalised(text.substr(dash + 1));
        if (slice && overlap(*slice, subnet) && is_node(text.substr(0, dash))) return true;
    }
    return false;
}

std::string reservation_name(const std::string& space, const base::IpAddress& address) {
    return with_network(space, normalised(address.to_string()));
}

std::optional<base::IpAddress> address_of_reservation(const std::string& space, const std::string& name) {
    const std::string before = with_network(space, "");
    if (!name.starts_with(before)) return std::nullopt;
    std::string text = name.substr(before.size());
    if (const auto v4 = base::IpAddress::parse(text)) return v4;
    std::ranges::replace(text, '-', ':');
    return base::IpAddress::parse(text);
}

} // namespace rdmanet::cluster
