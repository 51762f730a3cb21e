#include "plugin_search.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <sys/stat.h>

#include <string_view>

namespace rdmanet::cni {
namespace {

using base::quoted;

/// A NUL would end the path early in a system call.
bool is_file_name(const std::string& name) {
    return !name.empty() && base::is_printable_utf8(name) && name.find('/') == std::string::npos && name != "." &&
           name != "..";
}

} // namespace

std::string find_plugin(const std::string& plugin, const std::string& path, const std::string& name) {
    if (!is_file_name(plugin))
        throw CniError(ErrorCode::invalid_network_config,
                       fmt::format("ipam.type: expected the name of a plugin without '/', found {}", quoted(plugin)));
    if (path.empty())
        throw CniError(
            ErrorCode::invalid_environment,
            fmt::format("required env variables [{}] missing: set it to the directories that hold IPAM plugin {}", name,
                        quoted(plugin)));
    std::string_view rest = path;
    while (!rest.empty()) {
        const auto colon = rest.find(':');
        std::string candidate = fmt::format("{}/{}", rest.substr(0, colon), plugin);
        struct stat status {};
        if (colon != 0 && ::stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode)) return candidate;
        rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    }
    throw CniError(
        ErrorCode::delegate,
        fmt::format(
            "IPAM plugin {} is in none of the directories of {} ({}): install it there, or correct \"ipam.type\"",
            quoted(plugin), name, quoted(path, 1000)));
}

} // namespace rdmanet::cni
