#include "place.hpp"

#include <cstdlib>

namespace rdmanet::verify {

Place::Place(const std::string& netns) : netns_(kernel::get_netns(netns)), sysfs_(netns_), scope_(netns_) {
    // ibv_get_sysfs_path() reads it once.
    (void)::setenv("SYSFS_PATH", sysfs_.path("").c_str(), 1);
}

} // namespace rdmanet::verify
