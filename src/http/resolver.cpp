#include "resolver.hpp"

#include "dns.hpp"
#include "socket.hpp"
#include "words.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/http/host.hpp>

#include <cstddef>

namespace rdmanet::http {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20U;

std::string read_or_empty(const char* path) try {
    return base::read_file_if_exists(path, kMostBytes).value_or("");
} catch (const base::SystemError& error) {
    throw Failure{Stage::dns, error.what()};
}

} // namespace

std::vector<base::IpAddress> find_in_hosts(std::string_view text, std::string_view host) {
    std::vector<base::IpAddress> addresses;
    while (!text.empty()) {
        std::string_view line = next_line(text);
        const auto address = base::IpAddress::parse(next_word(line));
        for (std::string_view name = next_word(line); address && !name.empty(); name = next_word(line))
            if (base::equals_ignoring_case(name, host)) addresses.push_back(*address);
    }
    return addresses;
}

std::vector<base::IpAddress> resolve(const std::string& host, const base::Deadline& deadline) {
    if (const auto address = base::IpAddress::parse(host)) return {*address};
    if (auto addresses = find_in_hosts(read_or_empty("/etc/hosts"), host); !addresses.empty()) return addresses;
    return ask_name_servers(host, parse_resolver_configuration(read_or_empty("/etc/resolv.conf")), deadline);
}

std::vector<base::IpAddress> list_addresses_of(const std::string& host, const base::Deadline& deadline) {
    try {
        return resolve(host, deadline);
    } catch (const Failure& failure) {
        throw base::Error(fmt::format("DNS: {}", failure.why));
    }
}

} // namespace rdmanet::http
