// Which keys of an object are known. Unknown keys are ignored, because configurations in the field rely on that, but
// they produce a warning: a misspelt key would silently leave its default in force.
#pragma once

#include <rdmanet/base/error.hpp>
#include <rdmanet/json/reader.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::json {

struct KnownKey {
    std::string_view name; // one that ends with '/' stands for all keys that begin with it
    /// The warning for whoever sets the key; it begins with "ignored". Empty for a key that is used, and for one
    /// whose absence nobody could notice.
    std::string_view caveat = {};
};

/// Keys that are present and have no effect: "KEY: WHY".
struct UselessKeys {
    std::vector<std::string> unknown; // with the key that may be meant
    std::vector<std::string> idle;    // known, but without effect here

    [[nodiscard]] bool empty() const { return unknown.empty() && idle.empty(); }
    void append(const UselessKeys& others);
};

/// Warnings about the keys of a configuration.
struct KeyWarnings {
    std::vector<std::string> texts; // all of them, as a log shows them
    UselessKeys useless;
};

/// Adds "PATH: ..." for each member of `object` that is ignored. That is an unknown key, with the known key that may
/// be meant. It is a known key with a caveat, if its value asks for something: not false, 0, "", [] or {}. And it is
/// a key that differs only in case from the one that Reader::find() takes. Long keys and long lists are cut.
void warn_of_keys(const Reader& object, std::initializer_list<std::span<const KnownKey>> known, KeyWarnings& warnings);

/// Adds unknown keys to the error of a configuration that has them: a misspelt key may be why another is missing.
void add_unknown_keys(base::Error& error, const UselessKeys& useless);

} // namespace rdmanet::json
