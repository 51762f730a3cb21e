#include <rdmanet/base/hash.hpp>

namespace rdmanet::base {

std::uint64_t hash64(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111eb;
    return hash ^ (hash >> 31U);
}

} // namespace rdmanet::base
