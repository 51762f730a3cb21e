#include "protobuf.hpp"

#include <rdmanet/base/format.hpp>

namespace rdmanet::podresources {
namespace {

constexpr unsigned kVarint = 0;
constexpr unsigned kFixed64 = 1;
constexpr unsigned kLengthDelimited = 2;
constexpr unsigned kFixed32 = 5;
constexpr unsigned kBitsOfType = 3;
constexpr std::uint64_t kMostNumber = (std::uint64_t{1} << 29U) - 1;

} // namespace

std::uint64_t MessageReader::take_varint() {
    constexpr unsigned kBitsOfByte = 7;
    constexpr unsigned kMostBits = 64;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < kMostBits; shift += kBitsOfByte) {
        const auto byte = static_cast<unsigned char>(take(1).front());
        const std::uint64_t bits = byte & 0x7FU;
        if (shift + kBitsOfByte > kMostBits && bits > 1) break; // the tenth byte has only the last bit
        value |= bits << shift;
        if ((byte & 0x80U) == 0) return value;
    }
    throw MessageError("a number of more than 64 bits");
}

std::string_view MessageReader::take(std::uint64_t length) {
    if (length > rest_.size())
        throw MessageError(fmt::format("{} bytes are announced, and {} are left", length, rest_.size()));
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(length));
    rest_.remove_prefix(taken.size());
    return taken;
}

std::optional<Field> MessageReader::next() {
    constexpr std::uint64_t kBytes64 = 8;
    constexpr std::uint64_t kBytes32 = 4;
    while (!rest_.empty()) {
        const std::uint64_t tag = take_varint();
        const std::uint64_t number = tag >> kBitsOfType;
        if (number == 0 || number > kMostNumber) throw MessageError(fmt::format("field number {}", number));
        switch (const auto type = static_cast<unsigned>(tag & 7U)) {
        case kVarint: (void)take_varint(); break;
        case kFixed64: (void)take(kBytes64); break;
        case kFixed32: (void)take(kBytes32); break;
        case kLengthDelimited:
            return Field{.number = static_cast<std::uint32_t>(number), .content = take(take_varint())};
        default: throw MessageError(fmt::format("field {} has wire type {}", number, type));
        }
    }
    return std::nullopt;
}

} // namespace rdmanet::podresources
