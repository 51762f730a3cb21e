#include "dns.hpp"

#include "dns_message.hpp"
#include "socket.hpp"
#include "words.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

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
using Bytes = std::vector<unsigned char>;

constexpr std::chrono::milliseconds kPatience{300}; // until the next server is asked as well
constexpr std::size_t kLargestAnswer = 65535;
constexpr unsigned kMostDots = 15; // RES_MAXNDOTS

/// The same question again, over TCP. nullopt if that is no way either.
std::optional<NameAnswer> ask_by_tcp(const NameServer& server, const Question& question,
                                     const base::Deadline& deadline) try {
    Socket socket = Socket::connect_to(server.address, server.port, deadline);
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
    Inquiry(const std::vector<NameServer>& servers, const base::Deadline& deadline)
        : servers_(servers), deadline_(deadline), v4_alone_until_(deadline.at_most(deadline.remaining() / 2)),
          sockets_(servers.size()) {}

    /// False if the name cannot be one.
    [[nodiscard]] bool ask(std::string_view name) {
        questions_.clear();
        useless_.clear(); // a server may refuse one name, and know another
        next_ = good_;
        for (const Family family : {Family::v4, Family::v6}) {
            auto question = make_question(name, family);
            if (!question) return false;
            questions_.push_back(*std::move(question));
        }
        base::Deadline next_at = deadline_.at_most(std::chrono::milliseconds(0));
        while (!is_over()) {
            if (next_at.passed()) {
                send_to_next();
                next_at = deadline_.at_most(kPatience);
            }
            if (!receive(questions_[1].has_addresses() ? next_at.at_most(v4_alone_until_.remaining()) : next_at))
                next_at =
                    deadline_.at_most(std::chrono::milliseconds(0)); // nothing more comes from a server that refuses
        }
        return true;
    }

    [[nodiscard]] std::vector<base::IpAddress> addresses() const {
        for (const Question& question : questions_)
            if (question.has_addresses()) return question.answer->addresses;
        return {};
    }
    [[nodiscard]] bool is_answered() const {
        return std::all_of(questions_.begin(), questions_.end(),
                           [](const Question& question) { return question.answer.has_value(); });
    }
    [[nodiscard]] bool is_unknown() const {
        return is_answered() && questions_[0].answer->verdict == Verdict::unknown_name;
    }
    [[nodiscard]] bool was_refused() const { return useless_.size() == servers_.size(); }

private:
    [[nodiscard]] bool is_over() const {
        return questions_[0].has_addresses() || is_answered() || was_refused() || deadline_.passed() ||
               (questions_[1].has_addresses() && v4_alone_until_.passed());
    }

    void send_to_next() {
        while (useless_.contains(next_)) next_ = (next_ + 1) % servers_.size();
        const std::size_t at = std::exchange(next_, (next_ + 1) % servers_.size());
        base::UniqueFd& socket = sockets_[at];
        if (!socket) socket = connect_datagrams(servers_[at].address, servers_[at].port);
        for (const Question& question : questions_)
            if (socket && !question.answer &&
                ::send(socket.get(), question.packet.data(), question.packet.size(), 0) < 0)
                socket.reset();
        if (!socket) useless_.insert(at);
    }

    /// False if a server has turned out to be of no use.
    bool receive(const base::Deadline& until) {
        std::vector<pollfd> waiting;
        waiting.reserve(sockets_.size());
        for (std::size_t at = 0; at < sockets_.size(); ++at)
            waiting.push_back({.fd = useless_.contains(at) || !sockets_[at] ? -1 : sockets_[at].get(),
                               .events = POLLIN,
                               .revents = 0});
        const std::size_t useless = useless_.size();
        if (::poll(waiting.data(), waiting.size(), static_cast<int>(until.remaining().count())) > 0)
            for (std::size_t at = 0; at < waiting.size(); ++at)
                if (waiting[at].revents != 0) read_from(at);
        return useless_.size() == useless;
    }

    void read_from(std::size_t server) {
        Bytes bytes(kLargestAnswer);
        const ssize_t count = ::recv(sockets_[server].get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (count < 0 && errno != EAGAIN && errno != EINTR) useless_.insert(server); // ECONNREFUSED
        if (count <= 0) return;
        for (Question& question : questions_) {
            if (question.answer) continue;
            auto answer = parse_answer({bytes.data(), static_cast<std::size_t>(count)}, question);
            if (answer && answer->is_cut)
                if (auto whole = ask_by_tcp(servers_[server], question, deadline_)) answer = std::move(whole);
            if (answer && answer->verdict == Verdict::refused)
                useless_.insert(server);
            else if (answer)
                question.answer = std::move(answer), good_ = server;
        }
    }

    const std::vector<NameServer>& servers_;
    base::Deadline deadline_;
    base::Deadline v4_alone_until_; // most nodes reach IPv4 addresses, whoever else has IPv6 addresses
    std::vector<base::UniqueFd> sockets_;
    std::vector<Question> questions_;
    std::set<std::size_t> useless_; // servers that refuse
    std::size_t next_ = 0;
    std::size_t good_ = 0; // who answered last
};

/// In the order of resolv.conf(5), "ndots".
std::vector<std::string> names_to_ask(const std::string& host, const ResolverConfiguration& configuration) {
    if (host.ends_with('.')) return {host};
    std::vector<std::string> names;
    for (const std::string& domain : configuration.search) names.push_back(fmt::format("{}.{}", host, domain));
    const bool is_whole = static_cast<unsigned>(std::count(host.begin(), host.end(), '.')) >= configuration.dots;
    names.insert(is_whole ? names.begin() : names.end(), host);
    return names;
}

} // namespace

ResolverConfiguration parse_resolver_configuration(std::string_view text) {
    constexpr std::string_view kDots = "ndots:";
    ResolverConfiguration configuration;
    while (!text.empty()) {
        std::string_view line = next_line(text);
        line = line.substr(0, line.find(';'));
        const std::string_view key = next_word(line);
        if (key == "nameserver")
            if (const auto address = base::IpAddress::parse(next_word(line)))
                configuration.servers.push_back({.address = *address});
        if (key == "search" || key == "domain") { // the latest of them counts
            configuration.search.clear();
            for (auto word = next_word(line); !word.empty(); word = next_word(line))
                if (word != ".") configuration.search.emplace_back(word);
        }
        for (auto word = key == "options" ? next_word(line) : ""; !word.empty(); word = next_word(line))
            if (word.starts_with(kDots))
                if (const auto dots = base::parse_integer<unsigned>(word.substr(kDots.size())))
                    configuration.dots = std::min(*dots, kMostDots);
    }
    if (configuration.servers.empty())
        configuration.servers.push_back({.address = *base::IpAddress::parse("127.0.0.1")});
    return configuration;
}

std::vector<base::IpAddress> ask_name_servers(const std::string& host, const ResolverConfiguration& configuration,
                                              const base::Deadline& deadline) {
    const auto fail = [&](std::string_view why) {
        throw Failure{Stage::dns, fmt::format("looking up {}: {}", base::quoted(host), why)};
    };
    Inquiry inquiry(configuration.servers, deadline);
    bool was_refused = false;
    bool is_known = false;
    for (const std::string& name : names_to_ask(host, configuration)) {
        if (!inquiry.ask(name)) continue;
        if (auto addresses = inquiry.addresses(); !addresses.empty()) return addresses;
        if (!inquiry.is_answered() && !inquiry.was_refused()) fail("no name server answered");
        was_refused = was_refused || inquiry.was_refused();
        is_known = is_known || !inquiry.is_unknown();
    }
    if (was_refused) fail("every name server refuses to answer");
    fail(is_known ? "the name has no address" : "the name is unknown");
    return {};
}

} // namespace rdmanet::http
