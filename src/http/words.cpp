#include "words.hpp"

#include <algorithm>

namespace rdmanet::http {

std::string_view next_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line.substr(0, line.find('#'));
}

std::string_view next_word(std::string_view& line) {
    constexpr std::string_view kSpace = " \t\r";
    const auto begin = std::min(line.find_first_not_of(kSpace), line.size());
    const auto end = std::min(line.find_first_of(kSpace, begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    line.remove_prefix(end);
    return word;
}

} // namespace rdmanet::http
