#include <rdmanet/cni/version.hpp>

#include <rdmanet/base/text.hpp>

namespace rdmanet::cni {

std::optional<SpecVersion> parse_version(std::string_view text) {
    if (text.empty()) return SpecVersion::v0_1_0;
    for (std::size_t at = 0; at < kVersionTexts.size(); ++at)
        if (kVersionTexts[at] == text) return static_cast<SpecVersion>(at);
    return std::nullopt;
}

std::string supported_versions_text() {
    return base::join(kVersionTexts);
}

} // namespace rdmanet::cni
