// Values that are one of a few texts, and keys that belong to another kind of attachment.
#pragma once

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/json/reader.hpp>

#include <span>
#include <string>
#include <string_view>

namespace rdmanet::attach {

template <class T>
struct Choice {
    std::string_view text;
    T value;
};

/// The value whose text is `reader`'s, or a ValueError that lists the texts.
template <class T>
T choose(const json::Reader& reader, std::span<const Choice<T>> choices) {
    const std::string text = reader.string();
    std::string expected = "one of";
    for (const auto& [name, value] : choices) {
        if (name == text) return value;
        expected += base::concat(" \"", name, '"');
    }
    throw reader.unexpected(expected);
}

/// Throws CniError (unsupported field) if the key is there.
inline void refuse_key(const json::Reader& root, std::string_view key, std::string_view reason) {
    if (const auto value = root.find(key))
        throw cni::CniError(cni::ErrorCode::unsupported_field,
                            base::concat(value->path(), ": ", value->shown(), ' ', reason));
}

} // namespace rdmanet::attach
