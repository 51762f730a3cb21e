#include <rdmanet/cni/version_output.hpp>

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/version.hpp>

namespace rdmanet::cni {

std::string version_output() {
    std::string text = base::concat("{\"cniVersion\":\"", kNewestVersion, "\",\"supportedVersions\":[");
    for (const std::string_view version : kVersionTexts) {
        if (version != kVersionTexts.front()) text += ',';
        text += base::concat('"', version, '"');
    }
    return text + "]}\n";
}

std::string about_text(std::string_view plugin, std::string_view version) {
    return base::concat("CNI plugin ", plugin, " v", version,
                        "\nCNI protocol versions supported: ", supported_versions_text(), '\n');
}

} // namespace rdmanet::cni
