// Network configurations: each is refused with an error that names the place, or it is valid in every part. ADD and
// DEL read the same. A printed configuration is parsed with the same meaning.
#include "refusal.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/cni/net_conf.hpp>
#include <rdmanet/config/config.hpp>

#include <filesystem>
#include <set>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

void check_range(const ipam::ConfiguredRange& configured) {
    const ipam::Range& range = configured.range;
    const base::IpPrefix& subnet = range.subnet();
    const std::string name = range.to_string();
    demand(!range.usable().empty() && range.usable_count() > 0, name + " has no address to give");
    for (std::size_t at = 0; at < range.usable().size(); ++at) {
        const auto& [first, last] = range.usable()[at];
        demand(first <= last, name + " ends before it begins");
        demand(range.bounds().first <= first && last <= range.bounds().last, name + " gives more than its bounds");
        demand(at == 0 || range.usable()[at - 1].last + 1 < first, name + " has overlapping or adjacent intervals");
    }
    for (const base::Uint128 bound : {range.bounds().first, range.bounds().last})
        demand(subnet.contains({subnet.family(), bound}), name + " leaves its subnet");
    demand(!configured.gateway || subnet.contains(*configured.gateway), name + " has its gateway elsewhere");
}

void check_ipam(const ipam::Config& config) {
    demand(!config.ranges.empty() || !config.addresses.empty(), "nothing to allocate from");
    for (const ipam::ConfiguredRange& range : config.ranges) check_range(range);
    std::set<base::IpAddress> seen;
    for (const ipam::StaticAddress& address : config.addresses) {
        const base::IpAddress& own = address.address.address();
        demand(seen.insert(own).second, "a static address is there twice");
        const bool v4 = own.family() == base::Family::v4;
        const base::IpPrefix multicast = *base::IpPrefix::parse(v4 ? "224.0.0.0/4" : "ff00::/8");
        demand(!own.is_unspecified() && !multicast.contains(own), "a static address that no interface can have");
        demand(!address.gateway || address.gateway->family() == own.family(), "a gateway of the other family");
    }
    for (const ipam::Route& route : config.routes)
        demand(!route.gateway || route.gateway->family() == route.destination.family(), "a route of both families");
    demand(config.cooldown.count() >= 0 && config.cooldown.count() <= 86400, "a cooldown beyond a day");
}

void check_config(const config::Config& config) {
    if (config.mac) demand(!config.mac->is_multicast() && !config.mac->is_zero(), "no MAC address of an interface");
    if (config.mtu) demand(*config.mtu >= 68 && *config.mtu <= 65535, "no MTU of an interface");
    if (config.master) demand(config.master->find('/') == std::string::npos, "a master that is a path");
    if (config.log.file) {
        const std::string& file = *config.log.file; // below /var/log
        demand(std::filesystem::path(file).lexically_normal() == file, "a log file by a winding path: " + file);
        demand(file.starts_with("rdmanet"), "a log file elsewhere: " + file);
    }
    demand(config.rdma.gid_timeout.count() >= 0 && config.rdma.gid_timeout.count() <= 30'000,
           "waits too long for GIDs");
    if (const auto* own = std::get_if<ipam::Config>(&config.ipam)) check_ipam(*own);
}

std::string describe(const ipam::Config& config) {
    std::string text;
    for (const ipam::ConfiguredRange& range : config.ranges) {
        text += fmt::format("range {} space {} gateway {}", range.range, range.space,
                            range.gateway ? range.gateway->to_string() : "");
        for (const ipam::Interval& interval : range.range.usable())
            text += fmt::format(" {}-{}", ipam::to_text(interval.first), ipam::to_text(interval.last));
    }
    for (const ipam::StaticAddress& address : config.addresses)
        text += fmt::format(" address {} space {}", address.address, address.space);
    for (const ipam::Route& route : config.routes) text += fmt::format(" route {}", route.destination);
    return text;
}

std::string describe(const config::Config& config) {
    std::string text = fmt::format("{} master {} mtu {} mac {}", config.kind(), config.master.value_or(""),
                                   config.mtu.value_or(0), config.mac ? config.mac->to_string() : "");
    if (const auto* own = std::get_if<ipam::Config>(&config.ipam)) text += describe(*own);
    for (const std::string& warning : config.warnings) text += fmt::format(" warning {}", warning);
    return text;
}

void check_requested(const cni::NetConf& conf) {
    const auto mac = unless_refused([&] { return cni::requested_mac(conf, {}); });
    if (mac && *mac) demand(!(*mac)->mac.is_multicast(), "a requested MAC address that no interface can have");
    const auto ips = unless_refused([&] { return cni::requested_ips(conf, {}); });
    if (!ips) return;
    for (const cni::RequestedIp& ip : *ips)
        demand(ip.prefix_length.value_or(0) <= base::address_bits(ip.address.family()), "an impossible prefix length");
}

/// Checks what DEL reads of a configuration that ADD accepted.
void check_lenient(const cni::NetConf& strict, std::string_view text) {
    const cni::NetConf lenient = cni::parse_net_conf(text, cni::Strictness::lenient);
    const auto attachments = [](const cni::NetConf& conf) {
        return conf.valid_attachments ? conf.valid_attachments->size() + 1 : 0;
    };
    demand(lenient.warnings.empty(), "DEL warns of what ADD accepts");
    demand(lenient.name == strict.name && lenient.type == strict.type && lenient.version == strict.version &&
               lenient.ipam_type == strict.ipam_type && attachments(lenient) == attachments(strict),
           "DEL reads something else than ADD");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view text = as_text(data, size);
    demand(cni::parse_version(cni::version_for_errors(text)).has_value(), "an error of no version");
    (void)unless_refused([&] { return cni::parse_net_conf(text, cni::Strictness::lenient); });
    const auto conf = unless_refused([&] { return cni::parse_net_conf(text, cni::Strictness::strict); });
    if (!conf) return 0;
    check_lenient(*conf, text);
    check_requested(*conf);
    const auto config = unless_refused([&] { return config::parse_config(*conf); });
    if (!config) return 0;
    check_config(*config);
    const cni::NetConf again = cni::parse_net_conf(conf->document.root().to_text(), cni::Strictness::strict);
    demand(describe(config::parse_config(again)) == describe(*config), "printed, it means something else");
    return 0;
}
