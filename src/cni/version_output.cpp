#include <rdmanet/cni/version_output.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/cni/version.hpp>

namespace rdmanet::cni {

std::string version_output() {
    std::string text = fmt::format("{{\"cniVersion\":\"{}\",\"supportedVersions\":[", kNewestVersion);
    for (const std::string_view version : kVersionTexts) {
        if (version != kVersionTexts.front()) text += ',';
        text += fmt::format("\"{}\"", version);
    }
    return text + "]}\n";
}

std::string about_text(std::string_view plugin, std::string_view version) {
    return fmt::format("CNI plugin {} v{}\nCNI protocol versions supported: {}\n", plugin, version,
                       supported_versions_text());
}

} // namespace rdmanet::cni
