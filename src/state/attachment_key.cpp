#include <rdmanet/state/attachment_key.hpp>

#include <rdmanet/base/text.hpp>

#include <utility>

namespace rdmanet::state {
namespace {

constexpr std::string_view kSuffix = ".json";

} // namespace

std::string AttachmentKey::to_string() const {
    return base::concat("network \"", network, "\", container \"", container_id, "\", interface \"", ifname, '"');
}

std::string AttachmentKey::file_name() const {
    return base::concat(container_id, ':', ifname, ':', network, kSuffix);
}

std::optional<AttachmentKey> AttachmentKey::parse_file_name(std::string_view name) {
    if (!name.ends_with(kSuffix)) return std::nullopt;
    name.remove_suffix(kSuffix.size());
    const std::size_t first = name.find(':');
    const std::size_t last = name.rfind(':');
    if (first == last || name.find(':', first + 1) != last) return std::nullopt;
    AttachmentKey key{.network = std::string(name.substr(last + 1)),
                      .container_id = std::string(name.substr(0, first)),
                      .ifname = std::string(name.substr(first + 1, last - first - 1))};
    const bool complete = !key.network.empty() && !key.container_id.empty() && !key.ifname.empty();
    return complete ? std::optional(std::move(key)) : std::nullopt;
}

} // namespace rdmanet::state
