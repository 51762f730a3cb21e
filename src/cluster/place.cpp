#include <rdmanet/cluster/place.hpp>

namespace rdmanet::cluster {

std::string network_of(const std::string& space) {
    return space.substr(0, space.find('@'));
}

bool overlap(const base::IpPrefix& a, const base::IpPrefix& b) {
    return a.contains(b.network()) || b.contains(a.network());
}

} // namespace rdmanet::cluster
