// What a pod asks for, by three mechanisms that were added one after the other (CONVENTIONS.md of the CNI project).
#include <rdmanet/cni/error.hpp>
#include <rdmanet/cni/net_conf.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

namespace rdmanet::cni {
namespace {

using json::Reader;

constexpr const char* kMacExpected = "a unicast MAC address like \"02:00:00:00:00:01\"";
constexpr const char* kIpExpected = "an IP address, with or without prefix length";

std::optional<Reader> find_in(const Reader& root, std::initializer_list<const char*> path) {
    std::optional<Reader> at = root;
    for (const char* key : path) {
        at = at->find(key);
        if (!at) return std::nullopt;
    }
    return at;
}

std::optional<base::MacAddress> parse_mac(std::string_view text) {
    const auto mac = base::MacAddress::parse(text);
    return mac && !mac->is_multicast() && !mac->is_zero() ? mac : std::nullopt;
}

std::optional<RequestedIp> parse_ip(std::string_view text, std::string source) {
    if (const auto prefix = base::IpPrefix::parse(text))
        return RequestedIp{
            .address = prefix->address(), .prefix_length = prefix->length(), .source = std::move(source)};
    if (const auto address = base::IpAddress::parse(text))
        return RequestedIp{.address = *address, .source = std::move(source)};
    return std::nullopt;
}

std::vector<RequestedIp> parse_ips(const Reader& list) {
    std::vector<RequestedIp> ips;
    for (const Reader& element : list.elements()) {
        auto ip = parse_ip(element.string(), element.path());
        if (!ip) throw element.unexpected(kIpExpected);
        ips.push_back(*std::move(ip));
    }
    return ips;
}

} // namespace

std::optional<RequestedMac> requested_mac(const NetConf& conf, const Args& args) {
    const Reader root = conf.document.root();
    for (const auto path : {std::initializer_list<const char*>{"runtimeConfig", "mac"}, {"args", "cni", "mac"}}) {
        const auto reader = find_in(root, path);
        if (!reader || reader->string().empty()) continue;
        const auto mac = parse_mac(reader->string());
        if (!mac) throw reader->unexpected(kMacExpected);
        return RequestedMac{.mac = *mac, .source = reader->path()};
    }
    if (args.mac.empty()) return std::nullopt;
    const auto mac = parse_mac(args.mac);
    if (!mac)
        throw CniError(ErrorCode::invalid_environment,
                       fmt::format("{} MAC: expected {}, found {}", args.name, kMacExpected, base::quoted(args.mac)));
    return RequestedMac{.mac = *mac, .source = fmt::format("{} MAC", args.name)};
}

std::vector<RequestedIp> requested_ips(const NetConf& conf, const Args& args) {
    const Reader root = conf.document.root();
    for (const auto path : {std::initializer_list<const char*>{"runtimeConfig", "ips"}, {"args", "cni", "ips"}})
        if (const auto list = find_in(root, path))
            if (auto ips = parse_ips(*list); !ips.empty()) return ips;
    std::vector<RequestedIp> ips;
    for (const std::string& text : args.ips) {
        auto ip = parse_ip(text, fmt::format("{} IP", args.name));
        if (!ip)
            throw CniError(ErrorCode::invalid_environment,
                           fmt::format("{} IP: expected {}, found {}", args.name, kIpExpected, base::quoted(text)));
        ips.push_back(*std::move(ip));
    }
    return ips;
}

} // namespace rdmanet::cni
