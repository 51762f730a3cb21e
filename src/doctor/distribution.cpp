#include "distribution.hpp"

#include "files.hpp"

#include <sstream>

namespace rdmanet::doctor {
namespace {

/// The identifiers, the node's own first: "rocky", "rhel", "centos", "fedora".
std::vector<std::string> identifiers_of(const Context& context) {
    std::string own;
    std::string like;
    for (const std::string& line : lines_of(context.path("/etc/os-release"))) {
        if (line.starts_with("ID=")) own = line.substr(line.find('=') + 1);
        if (line.starts_with("ID_LIKE=")) like = line.substr(line.find('=') + 1);
    }
    std::string all = own + ' ' + like;
    std::erase_if(all, [](char c) { return c == '"' || c == '\''; });
    std::istringstream words(all);
    std::vector<std::string> identifiers;
    for (std::string word; words >> word;) identifiers.push_back(word);
    return identifiers;
}

} // namespace

Distribution distribution_of(const Context& context) {
    for (const std::string& identifier : identifiers_of(context)) {
        if (identifier == "ubuntu") return Distribution::ubuntu;
        if (identifier == "debian") return Distribution::debian;
        if (identifier == "fedora" || identifier == "rhel" || identifier == "centos") return Distribution::red_hat;
    }
    return Distribution::other;
}

std::string_view initramfs_command(Distribution distribution) {
    switch (distribution) {
    case Distribution::debian:
    case Distribution::ubuntu: return "`update-initramfs -u`";
    case Distribution::red_hat: return "`dracut -f`";
    case Distribution::other: break;
    }
    return "`dracut -f` or `update-initramfs -u`";
}

} // namespace rdmanet::doctor
