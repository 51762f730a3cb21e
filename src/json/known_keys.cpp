#include <rdmanet/json/known_keys.hpp>

#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

namespace rdmanet::json {
namespace {

using base::concat;
using KeyLists = std::initializer_list<std::span<const KnownKey>>;

constexpr std::size_t kMostWarnings = 20; // of one object
constexpr std::size_t kLongestShown = 64;
constexpr std::size_t kLongestName = 31; // of those that we know and that a key is compared with letter by letter

bool is_meant_by(const KnownKey& known, std::string_view key) {
    if (!known.name.ends_with('/')) return base::equals_ignoring_case(known.name, key);
    return key.size() > known.name.size() && base::equals_ignoring_case(known.name, key.substr(0, known.name.size()));
}

const KnownKey* find_key(KeyLists lists, std::string_view key) {
    for (const std::span<const KnownKey> list : lists)
        for (const KnownKey& known : list)
            if (is_meant_by(known, key)) return &known;
    return nullptr;
}

/// How many letters must be inserted, removed or replaced to make one of the other (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
    std::array<std::size_t, kLongestName + 1> row{};
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
        }
    }
    return row[b.size()];
}

/// The known key that differs least, by two letters at most: by one if it is so short that two would be half of it.
std::optional<std::string_view> find_near(KeyLists lists, std::string_view key) {
    if (key.size() > kLongestName) return std::nullopt;
    const std::string lower = base::to_lower(key);
    std::optional<std::string_view> nearest;
    std::size_t least = 3;
    for (const std::span<const KnownKey> list : lists)
        for (const KnownKey& known : list) {
            if (!known.caveat.empty() || known.name.ends_with('/') || known.name.size() > kLongestName) continue;
            const std::size_t far = distance(lower, base::to_lower(known.name));
            if (far >= least || far > (known.name.size() < 5 ? 1U : 2U)) continue;
            least = far;
            nearest = known.name;
        }
    return nearest;
}

/// The key as it is, unless it is long or could paint a terminal.
std::string path_of(const Reader& object, std::string_view key) {
    const bool harmless = key.size() <= kLongestShown && base::is_printable_utf8(key);
    const std::string shown = harmless ? std::string(key) : base::quoted(key, kLongestShown);
    return object.path().empty() ? shown : concat(object.path(), '.', shown);
}

bool asks_for_something(const Reader& value) {
    constexpr std::string_view kNothing[] = {"false", "0", "\"\"", "[]", "{}"};
    return std::find(std::begin(kNothing), std::end(kNothing), value.to_text()) == std::end(kNothing);
}

std::optional<std::string> warning_of(const Reader& object, const std::string& key, const Reader& value, KeyLists lists,
                                      std::vector<std::string>& unknown) {
    if (const KnownKey* known = find_key(lists, key)) {
        if (known->caveat.empty() || !asks_for_something(value)) return std::nullopt;
        return concat(path_of(object, key), ": ", known->caveat);
    }
    const auto near = find_near(lists, key);
    const std::string meant = near ? concat(" (did you mean \"", *near, "\"?)") : std::string();
    unknown.push_back(concat(path_of(object, key), ": unknown key", meant));
    return concat(path_of(object, key), ": unknown key", meant, ", ignored");
}

} // namespace

void warn_of_keys(const Reader& object, KeyLists known, KeyWarnings& warnings) {
    std::size_t count = 0;
    for (const auto& [key, value] : object.members()) {
        auto warning = warning_of(object, key, value, known, warnings.unknown);
        if (!warning) continue;
        if (++count > kMostWarnings) {
            warnings.texts.push_back(concat(object.path(), object.path().empty() ? "" : ": ", "more keys are ignored"));
            return;
        }
        warnings.texts.push_back(*std::move(warning));
    }
}

} // namespace rdmanet::json
