#include "dns.hpp"

#include "dns_message.hpp"
#include "socket.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/http/host.hpp>

#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace rdmanet::http {
namespace {

using base::Family;

/// Takes the next line out of `text`, without what follows a '#'.
std::string_view next_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line.substr(0, line.find('#'));
}

/// Takes the next word out of `line`; empty at the end.
std::string_view next_word(std::string_view& line) {
    constexpr std::string_view kSpace = " \t\r";
    const auto begin = std::min(line.find_first_not_of(kSpace), line.size());
    const auto end = std::min(line.find_first_of(kSpace, begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    line.remove_prefix(end);
    return word;
}

constexpr std::size_t kMostBytes = std::size_t{1} << 20U;

std::string read_or_empty(const char* path) try {
    return base::read_file_if_exists(path, kMostBytes).value_or("");
} catch (const base::SystemError& error) {
    throw Failure{Stage::dns, error.what()};
}

using Bytes = std::vector<unsigned char>;

constexpr std::chrono::milliseconds kPatience{300}; // until the next server is asked as well
constexpr std::size_t kLargestAnswer = 65535;
constexpr unsigned kMostDots = 15;       // RES_MAXNDOTS
constexpr unsigned kLongestTimeout = 30; // RES_MAXRETRANS

/// The same question again, over TCP. nullopt if that is no way either.
std::optional<NameAnswer> ask_by_tcp(const NameServer& server, const Question& question,
                                     const base::Deadline& deadline) try {
    Socket socket = Socket::connect_to(server.socket_address(), deadline);
    Bytes framed;
    append_number(framed, static_cast<unsigned>(question.packet.size()));
    framed.insert(framed.end(), question.packet.begin(), question.packet.end());
    socket.write_all({reinterpret_cast<const char*>(framed.data()), framed.size()}, deadline);
    Bytes received;
    std::array<char, 4096> buffer;
    std::size_t wanted = 2;
    while (received.size() < wanted) {
        const std::size_t count = socket.read_some(buffer, deadline);
        if (count == 0) return std::nullopt;
        received.insert(received.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(count));
        if (received.size() >= 2) wanted = 2 + (std::size_t{received[0]} << 8U | received[1]);
    }
    return parse_answer(std::span(received).subspan(2), question);
} catch (const Failure&) {
    return std::nullopt;
}

/// Asks the servers of both families' addresses of one name.
class Inquiry {
public:
    Inquiry(const ResolverConfiguration& configuration, const base::Deadline& deadline)
        : configuration_(configuration), servers_(configuration.servers), deadline_(deadline),
          other_family_until_(deadline.at_most(deadline.remaining() / 2)), sockets_(servers_.size()) {}

    /// False if the name cannot be one.
    [[nodiscard]] bool ask(std::string_view name) {
        questions_.clear();
        useless_.clear(); // a server may refuse one name, and know another
        refused_.clear();
        next_ = good_;
        for (const Family family : {Family::v4, Family::v6}) {
            auto question = make_question(name, family);
            if (!question) return false;
            questions_.push_back(*std::move(question));
        }
        if (configuration_.is_tcp_only)
            ask_each_by_tcp();
        else
            ask_by_datagrams();
        return true;
    }

    /// All that have arrived, and those of a family without a route last.
    [[nodiscard]] std::vector<base::IpAddress> addresses() const {
        std::vector<base::IpAddress> all;
        for (const Question& question : questions_)
            if (question.has_addresses())
                all.insert(all.end(), question.answer->addresses.begin(), question.answer->addresses.end());
        std::stable_partition(all.begin(), all.end(), has_route);
        return all;
    }
    /// Each question is answered, or every server refuses it.
    [[nodiscard]] bool is_settled() const {
        for (std::size_t at = 0; at < questions_.size(); ++at)
            if (!questions_[at].answer && !is_refused_by_all(at)) return false;
        return true;
    }
    [[nodiscard]] bool is_unknown() const {
        return std::ranges::any_of(questions_, [](const Question& question) {
            return question.answer && question.answer->verdict == Verdict::unknown_name;
        });
    }
    [[nodiscard]] bool was_refused() const { return !is_unknown() && (is_refused_by_all(0) || is_refused_by_all(1)); }

private:
    void ask_by_datagrams() {
        base::Deadline next_at = deadline_.at_most(std::chrono::milliseconds(0));
        while (!is_over()) {
            if (next_at.passed()) {
                send_to_next();
                next_at = deadline_.at_most(kPatience);
            }
            const bool is_enough = questions_[0].has_addresses() || questions_[1].has_addresses();
            if (!receive(is_enough ? next_at.at_most(other_family_until_.remaining()) : next_at))
                next_at =
                    deadline_.at_most(std::chrono::milliseconds(0)); // nothing more comes from a server that refuses
        }
    }

    void ask_each_by_tcp() {
        for (std::size_t tried = 0; tried < servers_.size(); ++tried, next_ = (next_ + 1) % servers_.size())
            for (std::size_t at = 0; at < questions_.size() && !is_over(); ++at) {
                const auto until = deadline_.at_most(
                    std::min<std::chrono::milliseconds>(configuration_.timeout, deadline_.remaining() / 2));
                if (!questions_[at].answer)
                    if (auto answer = ask_by_tcp(servers_[next_], questions_[at], until))
                        take(next_, at, *std::move(answer));
            }
    }

    void take(std::size_t server, std::size_t question, NameAnswer answer) {
        if (answer.verdict == Verdict::refused) {
            refused_.emplace(server, question);
        } else {
            questions_[question].answer = std::move(answer);
            good_ = server;
        }
    }

    [[nodiscard]] bool is_over() const {
        const bool has_v4 = questions_[0].has_addresses();
        if (has_v4 && has_route(questions_[0].answer->addresses.front())) return true;
        return is_settled() || deadline_.passed() ||
               ((has_v4 || questions_[1].has_addresses()) && other_family_until_.passed());
    }

    /// Sends nothing: only the kernel is asked.
    static bool has_route(const base::IpAddress& address) {
        constexpr std::uint16_t kAnyPort = 443;
        return static_cast<bool>(connect_datagrams({address, kAnyPort}));
    }

    /// By the place of the question. A server may refuse one family, and know the other.
    [[nodiscard]] bool is_refused_by(std::size_t server, std::size_t question) const {
        return useless_.contains(server) || refused_.contains({server, question});
    }
    [[nodiscard]] bool is_refused_by_all(std::size_t question) const {
        for (std::size_t server = 0; server < servers_.size(); ++server)
            if (!is_refused_by(server, question)) return false;
        return !questions_[question].answer;
    }
    /// It refuses all that is still unknown.
    [[nodiscard]] bool is_of_no_use(std::size_t server) const {
        for (std::size_t at = 0; at < questions_.size(); ++at)
            if (!questions_[at].answer && !is_refused_by(server, at)) return false;
        return true;
    }
    [[nodiscard]] std::size_t count_of_no_use() const {
        std::size_t count = 0;
        for (std::size_t at = 0; at < servers_.size(); ++at) count += is_of_no_use(at) ? 1U : 0U;
        return count;
    }

    void send_to_next() {
        while (is_of_no_use(next_)) next_ = (next_ + 1) % servers_.size();
        const std::size_t at = std::exchange(next_, (next_ + 1) % servers_.size());
        base::UniqueFd& socket = sockets_[at];
        if (!socket) socket = connect_datagrams(servers_[at].socket_address());
        for (std::size_t of = 0; of < questions_.size(); ++of)
            if (const Question& question = questions_[of];
                socket && !question.answer && !is_refused_by(at, of) &&
                ::send(socket.get(), question.packet.data(), question.packet.size(), 0) < 0)
                socket.reset();
        if (!socket) useless_.insert(at);
    }

    /// False if a server has turned out to be of no use.
    bool receive(const base::Deadline& until) {
        std::vector<pollfd> waiting;
        waiting.reserve(sockets_.size());
        for (std::size_t at = 0; at < sockets_.size(); ++at)
            waiting.push_back(
                {.fd = is_of_no_use(at) || !sockets_[at] ? -1 : sockets_[at].get(), .events = POLLIN, .revents = 0});
        const std::size_t of_no_use = count_of_no_use();
        if (::poll(waiting.data(), waiting.size(), static_cast<int>(until.remaining().count())) > 0)
            for (std::size_t at = 0; at < waiting.size(); ++at)
                if (waiting[at].revents != 0) read_from(at);
        return count_of_no_use() == of_no_use;
    }

    void read_from(std::size_t server) {
        Bytes bytes(kLargestAnswer);
        const ssize_t count = ::recv(sockets_[server].get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (count < 0 && errno != EAGAIN && errno != EINTR) useless_.insert(server); // ECONNREFUSED
        if (count <= 0) return;
        for (std::size_t at = 0; at < questions_.size(); ++at) {
            Question& question = questions_[at];
            if (question.answer) continue;
            auto answer = parse_answer({bytes.data(), static_cast<std::size_t>(count)}, question);
            if (answer && answer->is_cut)
                if (auto whole = ask_by_tcp(servers_[server], question, deadline_.at_most(deadline_.remaining() / 2)))
                    answer = std::move(whole); // else what the packet had: time to connect must be left
            if (answer) take(server, at, *std::move(answer));
        }
    }

    const ResolverConfiguration& configuration_;
    const std::vector<NameServer>& servers_;
    base::Deadline deadline_;
    base::Deadline other_family_until_; // most nodes reach IPv4 addresses, whoever else has IPv6 addresses
    std::vector<base::UniqueFd> sockets_;
    std::vector<Question> questions_;
    std::set<std::size_t> useless_;                         // servers that can't be reached
    std::set<std::pair<std::size_t, std::size_t>> refused_; // server and question
    std::size_t next_ = 0;
    std::size_t good_ = 0; // who answered last
};

/// In the order of resolv.conf(5), "ndots".
std::vector<std::string> names_to_ask(const std::string& host, const ResolverConfiguration& configuration) {
    if (host.ends_with('.')) return {host};
    std::vector<std::string> names;
    for (const std::string& domain : configuration.search) names.push_back(fmt::format("{}.{}", host, domain));
    const bool is_whole = static_cast<unsigned>(std::ranges::count(host, '.')) >= configuration.dots;
    names.insert(is_whole ? names.begin() : names.end(), host);
    return names;
}

/// "fe80::1%eth0" (RFC 4007, section 11).
std::optional<NameServer> parse_server(std::string_view word) {
    const std::size_t zone = word.find('%');
    const auto address = base::IpAddress::parse(word.substr(0, zone));
    if (!address) return std::nullopt;
    NameServer server{.address = *address};
    if (zone == std::string_view::npos) return server;
    const std::string_view link = word.substr(zone + 1);
    server.scope = base::parse_integer<std::uint32_t>(link).value_or(::if_nametoindex(std::string(link).c_str()));
    return server;
}

void take_option(std::string_view word, ResolverConfiguration& configuration) {
    constexpr std::string_view kDots = "ndots:";
    constexpr std::string_view kTimeout = "timeout:";
    if (word == "use-vc") configuration.is_tcp_only = true;
    if (word.starts_with(kDots))
        if (const auto dots = base::parse_integer<unsigned>(word.substr(kDots.size())))
            configuration.dots = std::min(*dots, kMostDots);
    if (word.starts_with(kTimeout))
        if (const auto seconds = base::parse_integer<unsigned>(word.substr(kTimeout.size())))
            configuration.timeout = std::chrono::seconds(std::clamp(*seconds, 1U, kLongestTimeout));
}

} // namespace

ResolverConfiguration parse_resolver_configuration(std::string_view text) {
    ResolverConfiguration configuration;
    while (!text.empty()) {
        std::string_view line = next_line(text);
        line = line.substr(0, line.find(';'));
        const std::string_view key = next_word(line);
        if (key == "nameserver")
            if (const auto server = parse_server(next_word(line))) configuration.servers.push_back(*server);
        if (key == "search" || key == "domain") { // the latest of them counts
            configuration.search.clear();
            for (auto word = next_word(line); !word.empty(); word = next_word(line))
                if (word != ".") configuration.search.emplace_back(word);
        }
        for (auto word = key == "options" ? next_word(line) : ""; !word.empty(); word = next_word(line))
            take_option(word, configuration);
    }
    if (configuration.servers.empty())
        configuration.servers.push_back({.address = *base::IpAddress::parse("127.0.0.1")});
    return configuration;
}

std::vector<base::IpAddress> ask_name_servers(const std::string& host, const ResolverConfiguration& configuration,
                                              const base::Deadline& deadline) {
    const auto fail = [&](std::string_view why) {
        throw Failure{Stage::dns, fmt::format("looking up {}: {}", base::quoted(host), why),
                      deadline.passed() ? Cause::silence : Cause::other};
    };
    Inquiry inquiry(configuration, deadline);
    bool was_refused = false;
    bool is_known = false;
    for (const std::string& name : names_to_ask(host, configuration)) {
        if (!inquiry.ask(name)) continue;
        if (auto addresses = inquiry.addresses(); !addresses.empty()) return addresses;
        if (!inquiry.is_settled()) fail("no name server answered");
        was_refused = was_refused || inquiry.was_refused();
        is_known = is_known || !inquiry.is_unknown();
    }
    if (was_refused) fail("every name server refuses to answer");
    fail(is_known ? "the name has no address" : "the name is unknown");
    return {};
}

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
