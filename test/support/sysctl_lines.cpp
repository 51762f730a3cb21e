#include "support/sysctl_lines.hpp"
#include "support/concat.hpp"

#include <rdmanet/base/file.hpp>

#include <filesystem>
#include <initializer_list>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;

struct Family {
    const char* name;
    std::initializer_list<const char*> sysctls;
};
const Family kFamilies[] = {{"ipv4", {"arp_notify"}}, {"ipv6", {"disable_ipv6", "keep_addr_on_down"}}};

constexpr std::string_view kLoopbackWithIpv6 = "sysctl ipv6/lo/disable_ipv6 = 0";

std::string value_in(const std::string& path) {
    const auto text = base::read_file_if_exists(path, 64);
    return text ? text->substr(0, text->find('\n')) : "absent"; // the interface may vanish meanwhile
}

} // namespace

std::vector<std::string> sysctl_lines() {
    std::vector<std::string> lines;
    for (const Family& family : kFamilies) {
        const fs::path directory = fs::path("/proc/sys/net") / family.name / "conf";
        if (!fs::exists(directory)) continue; // a kernel without IPv6
        for (const auto& interface : fs::directory_iterator(directory))
            for (const char* sysctl : family.sysctls)
                lines.push_back(concat("sysctl ", family.name, '/', interface.path().filename().string(), '/', sysctl,
                                       " = ", value_in(interface.path() / sysctl)));
    }
    return lines;
}

bool is_loopback_with_ipv6(const std::string& line) {
    return line.ends_with(kLoopbackWithIpv6);
}

std::string switched_off(std::string line) {
    line.back() = '1';
    return line;
}

} // namespace rdmanet::test
