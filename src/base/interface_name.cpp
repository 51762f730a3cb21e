#include <rdmanet/base/interface_name.hpp>

#include <rdmanet/base/text.hpp>

#include <net/if.h>

namespace rdmanet::base {

std::optional<InterfaceName> InterfaceName::parse(std::string_view text) {
    if (text.empty() || text.size() >= IFNAMSIZ || text == "." || text == "..") return std::nullopt;
    if (text == "all" || text == "default") return std::nullopt;
    // The kernel's isspace() is Latin-1's and examines bytes: 0xa0 is a space to it, even inside a UTF-8 sequence.
    if (text.find_first_of("/:% \t\n\v\f\r\xa0") != std::string_view::npos) return std::nullopt;
    if (!is_printable_utf8(text)) return std::nullopt;
    return InterfaceName(std::string(text));
}

} // namespace rdmanet::base
