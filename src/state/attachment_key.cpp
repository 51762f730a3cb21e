#include <rdmanet/state/attachment_key.hpp>

#include <rdmanet/base/text.hpp>

namespace rdmanet::state {

std::string AttachmentKey::to_string() const {
    return base::concat("network \"", network, "\", container \"", container_id, "\", interface \"", ifname, '"');
}

std::string AttachmentKey::file_name() const {
    return base::concat(container_id, ':', ifname, ':', network, ".json");
}

} // namespace rdmanet::state
