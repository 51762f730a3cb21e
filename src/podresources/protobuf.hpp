// Protocol Buffers on the wire (protobuf.dev, "Encoding"): the fields of one message, one after the other.
#pragma once

#include <rdmanet/base/error.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace rdmanet::podresources {

/// The bytes are not a message.
class MessageError : public base::Error {
public:
    using Error::Error;
};

/// A field with content: a text, bytes, or a message. Numbers are skipped, because nobody here needs one.
struct Field {
    std::uint32_t number = 0;
    std::string_view content; // a part of the message's bytes
};

class MessageReader {
public:
    explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

    /// The next field with content; nullopt at the end. Throws MessageError.
    [[nodiscard]] std::optional<Field> next();

private:
    std::uint64_t take_varint();
    std::string_view take(std::uint64_t length);

    std::string_view rest_;
};

} // namespace rdmanet::podresources
