#include <rdmanet/cni/cached_result.hpp>

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/json/reader.hpp>

namespace rdmanet::cni {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 20U;

/// Since libcni 0.8: {"kind": "cniCacheV1", "containerId": ..., "ifName": ..., "networkName": ..., "result": {...}}.
std::optional<Result> parse_cached(const std::string& text, std::string_view network, std::string_view container_id,
                                   std::string_view ifname) {
    const json::Document document = json::Document::parse(text);
    const json::Reader root = document.root();
    const auto is = [&](const char* key, std::string_view expected) {
        const auto member = root.find(key);
        return member && member->string() == expected;
    };
    const bool is_ours = is("kind", "cniCacheV1") && is("containerId", container_id) && is("ifName", ifname) &&
                         is("networkName", network);
    if (!is_ours) return std::nullopt;
    return parse_result(root.at("result"), SpecVersion::v1_1_0);
}

} // namespace

const std::vector<std::string>& default_result_caches() {
    static const std::vector<std::string> directories{"/var/lib/cni/results", "/var/lib/cni/multus/results"};
    return directories;
}

std::optional<Result> find_cached_result(std::string_view network, std::string_view container_id,
                                         std::string_view ifname, const std::vector<std::string>& directories) {
    for (const std::string& directory : directories) {
        try {
            const auto text = base::read_file_if_exists(
                fmt::format("{}/{}-{}-{}", directory, network, container_id, ifname), kLargestFile);
            if (!text) continue;
            if (auto result = parse_cached(*text, network, container_id, ifname)) return result;
        } catch (const base::Error&) { // another program's file: a part that cannot be read is unknown
        }
    }
    return std::nullopt;
}

} // namespace rdmanet::cni
