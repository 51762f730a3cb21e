// Values that are one of a few words, and keys that belong to another kind of attachment.
#pragma once

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/json/reader.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rdmanet::config {

template <class T>
struct Choice {
    std::string_view text;
    T value;
};

/// An empty text counts as an absent key, as in the peers: programs that write configurations write empty texts.
[[nodiscard]] inline bool is_empty_text(const json::Reader& reader) {
    return reader.is_string() && reader.string().empty();
}

/// The member unless it is absent or an empty text.
[[nodiscard]] inline std::optional<json::Reader> find_filled(const json::Reader& root, std::string_view key) {
    auto value = root.find(key);
    return value && is_empty_text(*value) ? std::nullopt : value;
}

/// The value whose word `reader` has, in any case of letters. Otherwise a ValueError that lists the words.
template <class T>
T choose(const json::Reader& reader, std::span<const Choice<T>> choices) {
    for (const auto& [name, value] : choices)
        if (reader.is_string() && base::equals_ignoring_case(name, reader.string())) return value;
    const auto quote = [](const Choice<T>& choice) { return base::quoted(choice.text); };
    throw reader.unexpected(fmt::format("one of {}", base::join(choices, ", ", quote)));
}

/// The member's value; nullopt if it is absent or an empty text.
template <class T>
std::optional<T> find_choice(const json::Reader& root, std::string_view key, std::span<const Choice<T>> choices) {
    const auto value = find_filled(root, key);
    return value ? std::optional(choose<T>(*value, choices)) : std::nullopt;
}

/// Throws CniError (unsupported field) if the key is there and not empty.
inline void refuse_key(const json::Reader& root, std::string_view key, std::string_view reason) {
    if (const auto value = find_filled(root, key))
        throw cni::CniError(cni::ErrorCode::unsupported_field,
                            fmt::format("{}: {} {}", value->path(), value->shown(), reason));
}

} // namespace rdmanet::config
