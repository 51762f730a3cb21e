// Which keys of an object are no mistake. Others are ignored, which configurations in the field rely on, but not in
// silence: whoever misspells a key gets its default instead of what was asked for.
#pragma once

#include <rdmanet/json/reader.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::json {

struct KnownKey {
    std::string_view name; // one that ends with '/' stands for all that begin with it
    /// What to tell whoever sets it, beginning with "ignored". Empty for a key that is used, or whose absence nobody
    /// could notice.
    std::string_view caveat = {};
};

/// Keys that are there and do nothing: "KEY: WHY".
struct UselessKeys {
    std::vector<std::string> unknown; // with the one that may be meant
    std::vector<std::string> idle;    // known, but without effect here

    [[nodiscard]] bool empty() const { return unknown.empty() && idle.empty(); }
    void append(const UselessKeys& others);
};

/// About the keys of a configuration.
struct KeyWarnings {
    std::vector<std::string> texts; // all, as a log has them
    UselessKeys useless;
};

/// Adds "PATH: ..." for each member of `object` whose key is unknown, with the known one that may be meant, or has a
/// caveat and a value that asks for something: not false, 0, "", [] or {}. So does one that differs from another only
/// in the case of letters, and is not the one that Reader::find() takes. Keys are cut to a length that a person
/// reads, and so is the list.
void warn_of_keys(const Reader& object, std::initializer_list<std::span<const KnownKey>> known, KeyWarnings& warnings);

} // namespace rdmanet::json
