#include <rdmanet/base/bus_address.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>

namespace rdmanet::base {
namespace {

constexpr std::size_t kLongestName = 64;

bool is_name_letter(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '_' || letter == '-';
}

bool is_auxiliary(std::string_view text) {
    const std::size_t last = text.rfind('.');
    if (last == std::string_view::npos || text.size() > kLongestName) return false;
    if (!parse_integer<std::uint32_t>(text.substr(last + 1))) return false;
    for (std::string_view rest = text.substr(0, last);;) {
        const std::string_view part = rest.substr(0, rest.find('.'));
        if (part.empty() || !std::all_of(part.begin(), part.end(), is_name_letter)) return false;
        if (part.size() == rest.size()) return true;
        rest.remove_prefix(part.size() + 1);
    }
}

} // namespace

std::string_view to_string(Bus bus) {
    return bus == Bus::pci ? "pci" : "auxiliary";
}

std::optional<BusAddress> BusAddress::parse(std::string_view text) {
    if (const auto pci = PciAddress::parse(text)) return BusAddress(*pci);
    if (is_auxiliary(text)) return BusAddress(Bus::auxiliary, std::string(text));
    return std::nullopt;
}

std::string BusAddress::sysfs_path() const {
    return fmt::format("bus/{}/devices/{}", bus_, name_);
}

} // namespace rdmanet::base
