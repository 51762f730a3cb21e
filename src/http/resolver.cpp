#include "resolver.hpp"

#include "socket.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <arpa/nameser.h>
#include <netdb.h>
#include <resolv.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace rdmanet::http {
namespace {

constexpr std::size_t kMostHosts = std::size_t{1} << 20U; // bytes
constexpr std::size_t kMostAnswer = 65535;                // of DNS over TCP

/// The next word; `line` begins behind it then. Empty at the end.
std::string_view next_word(std::string_view& line) {
    constexpr std::string_view kSpace = " \t\r";
    const auto begin = std::min(line.find_first_not_of(kSpace), line.size());
    const auto end = std::min(line.find_first_of(kSpace, begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    line.remove_prefix(end);
    return word;
}

/// A resolver of its own, whose every question ends.
class Resolver {
public:
    explicit Resolver(const base::Deadline& deadline) {
        is_open_ = ::res_ninit(&state_) == 0;
        // Seconds that each server has for its answer, and how often it is asked (resolv.h).
        state_.retrans = std::max(1, static_cast<int>(deadline.remaining().count() / 1000));
        state_.retry = 1;
    }
    Resolver(const Resolver&) = delete;
    Resolver& operator=(const Resolver&) = delete;
    ~Resolver() {
        if (is_open_) ::res_nclose(&state_);
    }

    /// Adds the addresses of that type.
    void ask(const std::string& host, ns_type type, base::Family family, std::vector<base::IpAddress>& addresses) {
        std::vector<unsigned char> answer(kMostAnswer);
        const int length = ::res_nsearch(&state_, host.c_str(), ns_c_in, type, answer.data(), kMostAnswer);
        ns_msg message;
        if (length < 0 || ::ns_initparse(answer.data(), length, &message) != 0) return;
        for (int at = 0; at < ns_msg_count(message, ns_s_an); ++at) {
            ns_rr record;
            if (::ns_parserr(&message, ns_s_an, at, &record) != 0) continue;
            if (ns_rr_type(record) == type && ns_rr_rdlen(record) == base::address_bits(family) / 8)
                addresses.push_back(base::IpAddress::from_bytes(family, ns_rr_rdata(record)));
        }
    }
    [[nodiscard]] std::string why() const {
        switch (state_.res_h_errno) {
        case HOST_NOT_FOUND: return "the name is unknown";
        case NO_DATA: return "the name has no address";
        default: return "no name server answered";
        }
    }

private:
    struct __res_state state_ {};
    bool is_open_ = false;
};

} // namespace

std::vector<base::IpAddress> find_in_hosts(std::string_view text, std::string_view host) {
    std::vector<base::IpAddress> addresses;
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        line = line.substr(0, line.find('#'));
        const auto address = base::IpAddress::parse(next_word(line));
        for (std::string_view name = next_word(line); address && !name.empty(); name = next_word(line))
            if (base::equals_ignoring_case(name, host)) addresses.push_back(*address);
    }
    return addresses;
}

std::vector<base::IpAddress> resolve(const std::string& host, const base::Deadline& deadline) {
    if (const auto address = base::IpAddress::parse(host)) return {*address};
    try {
        if (const auto hosts = base::read_file_if_exists("/etc/hosts", kMostHosts))
            if (auto addresses = find_in_hosts(*hosts, host); !addresses.empty()) return addresses;
    } catch (const base::SystemError& error) {
        throw Failure{Stage::dns, error.what()};
    }
    std::vector<base::IpAddress> addresses;
    Resolver resolver(deadline);
    resolver.ask(host, ns_t_a, base::Family::v4, addresses);
    resolver.ask(host, ns_t_aaaa, base::Family::v6, addresses);
    if (addresses.empty())
        throw Failure{Stage::dns, fmt::format("looking up {}: {}", base::quoted(host), resolver.why())};
    return addresses;
}

} // namespace rdmanet::http
