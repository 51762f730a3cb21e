#include "keys.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>

namespace rdmanet::cluster {
namespace {

bool is_plain(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
           c == '-' || c == ':' || c == '@';
}

/// One part of a key: different texts are different, and none has a slash. An empty text is "-".
std::string part(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    if (text.empty()) return "-";
    if (text == "-") return "%2D";
    std::string escaped;
    for (const char c : text) {
        if (is_plain(c)) {
            escaped.push_back(c);
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        escaped += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
    return escaped;
}

/// "010.000.000.005", "[fd00:0000:0000:0000:0000:0000:0000:0001]": a bracket comes after all digits.
std::string sortable(const base::IpAddress& address) {
    const auto bytes = address.bytes();
    if (address.is_v4()) {
        std::string text;
        for (std::size_t at = 0; at < 4; ++at) {
            const std::string number = std::to_string(bytes[at]);
            text += fmt::format("{}{}{}", at == 0 ? "" : ".", std::string(3 - number.size(), '0'), number);
        }
        return text;
    }
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text = "[";
    for (std::size_t at = 0; at < 16; ++at) {
        if (at > 0 && at % 2 == 0) text.push_back(':');
        text += {kDigits[bytes[at] >> 4U], kDigits[bytes[at] & 15U]};
    }
    return text + ']';
}

} // namespace

std::optional<std::string> EtcdKeys::text_of_part(std::string_view escaped) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string text;
    if (escaped != "-")
        for (std::size_t at = 0; at < escaped.size(); ++at) {
            if (escaped[at] != '%') {
                text.push_back(escaped[at]);
                continue;
            }
            if (at + 2 >= escaped.size()) return std::nullopt;
            const std::size_t high = kDigits.find(escaped[at + 1]);
            const std::size_t low = kDigits.find(escaped[at + 2]);
            if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
            text.push_back(static_cast<char>(high * 16 + low));
            at += 2;
        }
    return part(text) == escaped ? std::optional(text) : std::nullopt;
}

std::string EtcdKeys::addresses(const std::string& space) const {
    return fmt::format("{}/{}/a/", prefix_, part(space));
}

std::string EtcdKeys::address(const std::string& space, const base::IpAddress& address) const {
    return addresses(space) + sortable(address);
}

std::optional<base::IpAddress> EtcdKeys::address_in(std::string_view key) {
    key.remove_prefix(key.rfind('/') + 1);
    std::string text(key);
    if (text.starts_with('[') && text.ends_with(']')) {
        text = text.substr(1, text.size() - 2);
    } else { // without the zeros: elsewhere they mean octal numbers
        std::string shorter;
        for (std::size_t at = 0; at < text.size(); ++at) {
            const bool is_first = at == 0 || text[at - 1] == '.' || shorter.empty() || shorter.back() == '.';
            const bool has_more = at + 1 < text.size() && text[at + 1] != '.';
            if (!(is_first && has_more && text[at] == '0')) shorter.push_back(text[at]);
        }
        text = std::move(shorter);
    }
    const auto address = base::IpAddress::parse(text);
    return address && sortable(*address) == key ? address : std::nullopt;
}

std::string EtcdKeys::ranges(const std::string& space) const {
    return fmt::format("{}/{}/r/", prefix_, part(space));
}

std::string EtcdKeys::range(const std::string& space, const base::IpPrefix& subnet) const {
    return fmt::format("{}{}-{}", ranges(space), sortable(subnet.network()), subnet.length());
}

std::optional<base::IpPrefix> EtcdKeys::range_in(std::string_view key) {
    const std::size_t dash = key.rfind('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const auto address = address_in(key.substr(0, dash));
    const auto length = base::parse_integer<unsigned>(key.substr(dash + 1));
    const auto subnet = address && length ? base::IpPrefix::make(*address, *length) : std::nullopt;
    if (!subnet) return std::nullopt;
    const bool is_as_written = key.ends_with(fmt::format("{}-{}", sortable(subnet->network()), subnet->length()));
    return is_as_written ? subnet : std::nullopt;
}

std::string EtcdKeys::owners(const std::string& space) const {
    return fmt::format("{}/{}/o/", prefix_, part(space));
}

std::string EtcdKeys::owner(const std::string& space, const ipam::OwnerKey& key) const {
    return fmt::format("{}{}/{}/{}/", owners(space), part(key.network), part(key.container_id), part(key.ifname));
}

std::string EtcdKeys::owner(const ipam::Lease& lease) const {
    return fmt::format("{}{}", owner(lease.space, lease.owner.key), lease.slot);
}

std::string EtcdKeys::node(const std::string& machine_id) const {
    return fmt::format("{}/@nodes/{}", prefix_, part(machine_id));
}

std::string EtcdKeys::pods(const std::string& machine_id) const {
    return node(machine_id) + '/';
}

std::string EtcdKeys::pod(const std::string& machine_id, const ipam::Owner& owner) const {
    return fmt::format("{}{}/{}/{}/{}/", pods(machine_id), part(owner.pod_namespace), part(owner.pod_name),
                       part(owner.key.network), part(owner.key.ifname));
}

std::string EtcdKeys::held(const std::string& machine_id, const ipam::Lease& lease) const {
    return fmt::format("{}{}/{}/{}", pod(machine_id, lease.owner), part(lease.owner.key.container_id),
                       part(lease.space), lease.slot);
}

std::optional<std::string> EtcdKeys::space_in(std::string_view held, const ipam::OwnerKey& key) {
    const std::string its = fmt::format("/{}/{}/{}/", part(key.network), part(key.ifname), part(key.container_id));
    const std::size_t slash = held.rfind('/'); // before the slot
    const std::size_t space = slash == std::string_view::npos ? slash : held.substr(0, slash).rfind('/');
    if (space == std::string_view::npos || !held.substr(0, space + 1).ends_with(its)) return std::nullopt;
    return text_of_part(held.substr(space + 1, slash - space - 1));
}

} // namespace rdmanet::cluster
