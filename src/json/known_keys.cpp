#include <rdmanet/json/known_keys.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <strings.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

namespace rdmanet::json {
namespace {

using KeyLists = std::initializer_list<std::span<const KnownKey>>;

constexpr std::string_view kIgnored = "ignored"; // the first word of every caveat
constexpr std::size_t kMostWarnings = 20;        // for one object
constexpr std::size_t kLongestShown = 64;
constexpr std::size_t kLongestName = 31; // longest known key that a misspelt key is compared with letter by letter

bool is_meant_by(const KnownKey& known, std::string_view key) {
    if (known.name.ends_with('/') ? key.size() <= known.name.size() : key.size() != known.name.size()) return false;
    return ::strncasecmp(known.name.data(), key.data(), known.name.size()) == 0;
}

const KnownKey* find_key(KeyLists lists, std::string_view key) {
    for (const std::span<const KnownKey> list : lists)
        for (const KnownKey& known : list)
            if (is_meant_by(known, key)) return &known;
    return nullptr;
}

/// The number of letters to insert, remove, replace, or swap with the next one to turn one text into the other
/// (Damerau and Levenshtein; no letter is changed twice).
std::size_t distance(std::string_view a, std::string_view b) {
    using Row = std::array<std::size_t, kLongestName + 1>;
    Row before{};
    Row last{};
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        Row row{i + 1};
        for (std::size_t j = 0; j < b.size(); ++j) {
            row[j + 1] = std::min({last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1});
            if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
                row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
        }
        before = std::exchange(last, row);
    }
    return last[b.size()];
}

/// The known key with the smallest difference: at most two letters, or one if the key is so short that two would be
/// half of it.
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

/// The key as it is, unless it is long or has control characters for a terminal.
std::string path_of(const Reader& object, std::string_view key) {
    const bool harmless = key.size() <= kLongestShown && base::is_printable_utf8(key);
    const std::string shown = harmless ? std::string(key) : base::quoted(key, kLongestShown);
    return object.path().empty() ? shown : fmt::format("{}.{}", object.path(), shown);
}

bool asks_for_something(const Reader& value) {
    constexpr std::string_view kNothing[] = {"false", "0", "\"\"", "[]", "{}"};
    return std::find(std::begin(kNothing), std::end(kNothing), value.to_text()) == std::end(kNothing);
}

/// The key that Reader::find() takes if several differ from `known` only in case.
std::string winner_of(const Reader& object, const KnownKey& known) {
    std::string winner;
    for (const auto& [key, value] : object.members()) {
        if (key == known.name) return key;
        if (base::equals_ignoring_case(key, known.name)) winner = key;
    }
    return winner;
}

/// Why a known key has no effect, beginning with "ignored"; empty if it has one.
std::string idleness(const Reader& object, const std::string& key, const Reader& value, const KnownKey& known) {
    if (!known.name.ends_with('/') && key != known.name)
        if (const std::string winner = winner_of(object, known); winner != key)
            return fmt::format("ignored, because \"{}\" is the same key: remove one of them", winner);
    return std::string(asks_for_something(value) ? known.caveat : std::string_view());
}

std::optional<std::string> warning_of(const Reader& object, const std::string& key, const Reader& value, KeyLists lists,
                                      UselessKeys& useless) {
    if (const KnownKey* known = find_key(lists, key)) {
        const std::string why = idleness(object, key, value, *known);
        if (why.empty()) return std::nullopt;
        useless.idle.push_back(fmt::format("{}: has no effect{}", path_of(object, key), why.substr(kIgnored.size())));
        return fmt::format("{}: {}", path_of(object, key), why);
    }
    const std::string path = path_of(object, key);
    const auto near = find_near(lists, key);
    useless.unknown.push_back(near ? fmt::format("{}: unknown key (did you mean \"{}\"?)", path, *near)
                                   : fmt::format("{}: unknown key", path));
    return fmt::format("{}, ignored", useless.unknown.back());
}

} // namespace

void UselessKeys::append(const UselessKeys& others) {
    unknown.insert(unknown.end(), others.unknown.begin(), others.unknown.end());
    idle.insert(idle.end(), others.idle.begin(), others.idle.end());
}

void warn_of_keys(const Reader& object, KeyLists known, KeyWarnings& warnings) {
    std::size_t count = 0;
    for (const auto& [key, value] : object.members()) {
        auto warning = warning_of(object, key, value, known, warnings.useless);
        if (!warning) continue;
        if (++count > kMostWarnings) {
            warnings.texts.push_back(object.path().empty() ? "more keys are ignored"
                                                           : fmt::format("{}: more keys are ignored", object.path()));
            return;
        }
        warnings.texts.push_back(*std::move(warning));
    }
}

void add_unknown_keys(base::Error& error, const UselessKeys& useless) {
    constexpr std::size_t kMostShown = 3;
    for (std::size_t at = 0; at < std::min(useless.unknown.size(), kMostShown); ++at)
        error.add_remark(useless.unknown[at]);
}

} // namespace rdmanet::json
