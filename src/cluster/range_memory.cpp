#include "range_memory.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>

namespace rdmanet::cluster {
namespace {

constexpr std::size_t kLongestFile = 4096;

} // namespace

bool RangeMemory::knows(const Place& place, const std::string& pool_uid) const {
    if (pool_uid.empty()) return false;
    if (const auto known = known_.find(pool_name(place)); known != known_.end()) return known->second == pool_uid;
    if (directory_.empty()) return false;
    try {
        return base::read_regular_file_if_exists(path_of(place), kLongestFile) == pool_uid;
    } catch (const base::Error&) {
        return false;
    }
}

void RangeMemory::note(const Place& place, const std::string& pool_uid) {
    known_[pool_name(place)] = pool_uid;
    if (directory_.empty()) return;
    try {
        base::write_file_durably(path_of(place), pool_uid);
    } catch (const base::Error&) { // the next ADD asks again
    }
}

std::string RangeMemory::path_of(const Place& place) const {
    return fmt::format("{}/pool-{:016x}", directory_, base::hash64(place.space + '\n' + pool_name(place)));
}

} // namespace rdmanet::cluster
