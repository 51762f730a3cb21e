#include "support/names.hpp"

#include <algorithm>
#include <cctype>

namespace rdmanet::test {
namespace {

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// True if one word, number, address or key continues across `end`. A dot or a colon inside of it does not end it.
bool goes_on(const std::string& text, std::size_t end) {
    if (end == 0 || end >= text.size()) return false;
    const bool joined = text[end] == '.' || text[end] == ':';
    return is_word(text[end - 1]) &&
           (is_word(text[end]) || (joined && end + 1 < text.size() && is_word(text[end + 1])));
}

bool is_continued(const std::string& text, std::size_t begin) {
    if (begin < 2 || begin >= text.size()) return begin == 1 && is_word(text[0]) && is_word(text[1]);
    const bool joined = text[begin - 1] == '.' || text[begin - 1] == ':';
    return is_word(text[begin]) && (is_word(text[begin - 1]) || (joined && is_word(text[begin - 2])));
}

} // namespace

std::size_t last_place(const std::string& text, const std::string& thing) {
    for (auto at = text.rfind(thing); at != std::string::npos; at = at == 0 ? at - 1 : text.rfind(thing, at - 1))
        if (!is_continued(text, at) && !goes_on(text, at + thing.size())) return at;
    return std::string::npos;
}

bool names(const std::string& text, const std::string& thing) {
    if (thing.ends_with("...")) return text.find(thing.substr(0, thing.size() - 3)) != std::string::npos;
    return thing.empty() || last_place(text, thing) != std::string::npos;
}

bool Names::match(const std::string& text) const {
    return !things_.empty() &&
           std::all_of(things_.begin(), things_.end(), [&](const std::string& thing) { return names(text, thing); });
}

std::string Names::describe() const {
    std::string text = "names";
    for (const std::string& thing : things_) text += " <" + thing + '>';
    return text;
}

} // namespace rdmanet::test
