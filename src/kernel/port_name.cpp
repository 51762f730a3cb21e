#include "port_name.hpp"

#include <rdmanet/base/text.hpp>

namespace rdmanet::kernel {
namespace {

/// Removes `word` and the number after it from the beginning of `text`; nullopt if the text begins differently.
std::optional<unsigned> take_number(std::string_view& text, std::string_view word) {
    if (!text.starts_with(word)) return std::nullopt;
    text.remove_prefix(word.size());
    const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
    text.remove_prefix(digits.size());
    return base::parse_integer<unsigned>(digits);
}

} // namespace

bool is_of_port(std::string_view port_name) {
    return take_number(port_name, "p") && port_name.empty();
}

std::optional<unsigned> vf_of(std::string_view port_name) {
    if (!take_number(port_name, "pf")) return std::nullopt;
    const auto number = take_number(port_name, "vf");
    return port_name.empty() ? number : std::nullopt;
}

} // namespace rdmanet::kernel
