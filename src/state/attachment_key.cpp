#include <rdmanet/state/attachment_key.hpp>

#include <rdmanet/base/format.hpp>

#include <utility>
#include <vector>

namespace rdmanet::state {
namespace {

constexpr std::string_view kSuffix = ".json";

} // namespace

AttachmentKey AttachmentKey::with_role(std::string other) const {
    AttachmentKey key = *this;
    key.role = std::move(other);
    return key;
}

std::string AttachmentKey::to_string() const {
    return fmt::format("network \"{}\", container \"{}\", interface \"{}\"", network, container_id, ifname);
}

std::string AttachmentKey::file_name() const {
    if (role.empty()) return fmt::format("{}:{}:{}{}", container_id, ifname, network, kSuffix);
    return fmt::format("{}:{}:{}:{}{}", container_id, ifname, network, role, kSuffix);
}

std::optional<AttachmentKey> AttachmentKey::parse_file_name(std::string_view name) {
    if (!name.ends_with(kSuffix)) return std::nullopt;
    name.remove_suffix(kSuffix.size());
    std::vector<std::string> parts(1);
    for (const char letter : name) {
        if (letter == ':')
            parts.emplace_back();
        else
            parts.back().push_back(letter);
    }
    if (parts.size() != 3 && parts.size() != 4) return std::nullopt;
    AttachmentKey key{.network = parts[2], .container_id = parts[0], .ifname = parts[1]};
    if (parts.size() == 4 && parts[3].empty()) return std::nullopt;
    if (parts.size() == 4) key.role = parts[3];
    const bool complete = !key.network.empty() && !key.container_id.empty() && !key.ifname.empty();
    return complete ? std::optional(std::move(key)) : std::nullopt;
}

} // namespace rdmanet::state
