#include "mac.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>

namespace rdmanet::attach {

base::MacAddress derive_mac(std::string_view boot_id, const state::AttachmentKey& key) {
    std::uint64_t bits = base::hash64(fmt::format("{}\n{}", boot_id, key.file_name()));
    base::MacAddress::Bytes bytes{};
    for (unsigned char& byte : bytes) {
        byte = static_cast<unsigned char>(bits);
        bits >>= 8U;
    }
    constexpr unsigned char kGroup = 0x01;
    constexpr unsigned char kLocal = 0x02;
    bytes[0] = static_cast<unsigned char>((bytes[0] & ~kGroup) | kLocal);
    return base::MacAddress(bytes);
}

} // namespace rdmanet::attach
