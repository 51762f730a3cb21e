#include <rdmanet/cni/version_output.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/version.hpp>

namespace rdmanet::cni {

std::string version_output() {
    return "{\"cniVersion\":\"" + std::string(kNewestVersion) + "\",\"supportedVersions\":[\"" +
           base::join(kVersionTexts, "\",\"") + "\"]}\n";
}

std::string about_text(std::string_view plugin, std::string_view version) {
    return fmt::format("CNI plugin {} v{}\nCNI protocol versions supported: {}\n", plugin, version,
                       supported_versions_text());
}

} // namespace rdmanet::cni
