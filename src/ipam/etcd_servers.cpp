#include <rdmanet/ipam/etcd_servers.hpp>

#include "address_text.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/url.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>

namespace rdmanet::ipam {
namespace {

constexpr std::size_t kMostEndpoints = 16;
constexpr std::size_t kLongestPrefix = 200;

bool is_secure(const std::string& endpoint) {
    return endpoint.starts_with("https://");
}

std::string path_or_empty(const json::Reader& etcd, std::string_view key) {
    const auto member = find_text(etcd, key);
    if (!member) return {};
    if (!member->string().starts_with('/')) throw member->unexpected("the absolute path of a file on each node");
    return member->string();
}

/// What stands in the place of a server may have a password in it.
[[noreturn]] void refuse_unquoted(const json::Reader& value, std::string_view expected) {
    throw json::ValueError(value.path(), fmt::format("expected {}", expected));
}

std::vector<std::string> parse_endpoints(const json::Reader& list) {
    std::vector<std::string> endpoints;
    if (!list.is_array()) refuse_unquoted(list, "a list of servers");
    for (const json::Reader& element : list.elements()) {
        if (!element.is_string()) refuse_unquoted(element, "https://HOST:PORT or http://HOST:PORT");
        endpoints.push_back(element.string());
        try {
            (void)base::Url::parse(endpoints.back());
        } catch (const base::UrlError& error) {
            throw json::ValueError(element.path(), error.what());
        }
        if (is_secure(endpoints.back()) != is_secure(endpoints.front()))
            refuse_unquoted(list, "endpoints that are all https, or all http");
    }
    if (endpoints.empty() || endpoints.size() > kMostEndpoints)
        refuse_unquoted(list, fmt::format("1 to {} endpoints, found {}", kMostEndpoints, endpoints.size()));
    return endpoints;
}

std::string parse_prefix(const json::Reader& etcd, std::string otherwise) {
    const auto member = find_text(etcd, "prefix");
    if (!member) return otherwise;
    std::string prefix = member->string();
    if (!prefix.starts_with('/') || prefix.ends_with('/') || prefix.size() > kLongestPrefix ||
        !base::is_printable_utf8(prefix))
        throw member->unexpected(
            fmt::format("up to {} bytes that begin with '/' and do not end with it", kLongestPrefix));
    return prefix;
}

/// A network also names the servers, so it could send them any file of the node.
void expect_no_secrets(const json::Reader& etcd) {
    for (const std::string_view key : {"passwordFile", "username", "key", "cert"})
        if (const auto member = find_text(etcd, key))
            throw json::ValueError(member->path(), fmt::format("a network cannot set it, because a network also names "
                                                               "the server: move \"etcd\" to {} on each node",
                                                               kNodeFile));
}

/// Of "http://HOST:PORT".
bool is_on_this_node(std::string_view endpoint) {
    std::string_view host = endpoint.substr(endpoint.find("://") + 3);
    if (host.starts_with('['))
        host = host.substr(1, host.find(']') - 1);
    else
        host = host.substr(0, host.find_first_of(":/"));
    if (host == "localhost") return true;
    const auto address = base::IpAddress::parse(host);
    if (!address) return false;
    constexpr unsigned kLoopback = 127; // 127.0.0.0/8 (RFC 1122, section 3.2.1.3)
    return address->is_v4() ? address->bytes()[0] == kLoopback : address->value() == 1;
}

/// Throws for one of the two without the other.
void expect_both(const json::Reader& etcd, std::string_view one, std::string_view other) {
    const bool has_one = find_text(etcd, one).has_value();
    if (has_one == find_text(etcd, other).has_value()) return;
    throw json::ValueError(etcd.path(), fmt::format("\"{}\" is missing: both \"{}\" and \"{}\" are needed",
                                                    has_one ? other : one, one, other));
}

void write_if_set(json::Writer& writer, std::string_view key, const std::string& value) {
    if (!value.empty()) writer.member(key, value);
}

} // namespace

EtcdServers parse_etcd(const json::Reader& etcd, EtcdSource source) {
    if (!etcd.is_object()) refuse_unquoted(etcd, "an object with \"endpoints\"");
    if (source == EtcdSource::network) expect_no_secrets(etcd);
    EtcdServers servers;
    servers.endpoints = parse_endpoints(etcd.at("endpoints"));
    servers.ca = path_or_empty(etcd, "ca");
    if (is_secure(servers.endpoints.front()) && servers.ca.empty())
        throw json::ValueError(etcd.path(), "\"ca\" is missing: https endpoints need the certificate of their "
                                            "authority");
    expect_both(etcd, "cert", "key");
    servers.certificate = path_or_empty(etcd, "cert");
    servers.key = path_or_empty(etcd, "key");
    expect_both(etcd, "username", "passwordFile");
    if (const auto username = find_text(etcd, "username")) servers.username = username->string();
    servers.password_file = path_or_empty(etcd, "passwordFile");
    servers.prefix = parse_prefix(etcd, servers.prefix);
    return servers;
}

void expect_encrypted_password(const EtcdServers& servers, const std::string& where) {
    const bool is_open = std::any_of(servers.endpoints.begin(), servers.endpoints.end(), [](const auto& endpoint) {
        return !is_secure(endpoint) && !is_on_this_node(endpoint);
    });
    if (is_open && !servers.username.empty())
        throw json::ValueError(where,
                               "\"username\" needs endpoints with https, because the password would cross the "
                               "network unencrypted: use https, or an etcd on this node (http://127.0.0.1:PORT)");
}

std::string to_text(const EtcdServers& servers) {
    json::Writer writer;
    writer.begin_object().key("endpoints").begin_array();
    for (const std::string& endpoint : servers.endpoints) writer.value(endpoint);
    writer.end_array();
    write_if_set(writer, "ca", servers.ca);
    write_if_set(writer, "cert", servers.certificate);
    write_if_set(writer, "key", servers.key);
    write_if_set(writer, "username", servers.username);
    write_if_set(writer, "passwordFile", servers.password_file);
    return writer.member("prefix", servers.prefix).end_object().to_text();
}

} // namespace rdmanet::ipam
