#include "channel.hpp"

#include "failure.hpp"
#include "messages.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/wait.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <utility>

namespace rdmanet::verify {
namespace {

constexpr std::size_t kLongestLine = 8192; // the longest message has about 600 bytes
constexpr const char* kLookAtPeer = "see what the other end reports, then run both again";

[[noreturn]] void throw_gone(const std::string& how) {
    throw Failure(fmt::format("the other end of the test has ended: {}", how), kLookAtPeer);
}

} // namespace

Channel::Channel(base::UniqueFd fd) : fd_(std::move(fd)) {
    const int flags = ::fcntl(fd_.get(), F_GETFL);
    if (flags < 0 || ::fcntl(fd_.get(), F_SETFL, flags | O_NONBLOCK) != 0)
        throw base::SystemError("prepare the connection between the ends", errno);
}

void Channel::wait_for(short events, const base::Deadline& deadline) const {
    if (!base::wait_for_events(fd_.get(), events, deadline))
        throw Failure("the other end of the test says nothing", "give both ends more time with `--seconds`");
}

void Channel::send(std::string_view message, const base::Deadline& deadline) {
    const std::string line = fmt::format("{}\n", message);
    for (std::string_view rest = line; !rest.empty();) {
        const ssize_t count = ::send(fd_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
        if (count >= 0)
            rest.remove_prefix(static_cast<std::size_t>(count));
        else if (errno == EAGAIN)
            wait_for(POLLOUT, deadline);
        else if (errno != EINTR)
            throw_gone(base::errno_text(errno));
    }
}

std::string Channel::read_line(const base::Deadline& deadline) {
    for (;;) {
        if (const std::size_t end = read_.find('\n'); end != std::string::npos) {
            std::string line = read_.substr(0, end);
            read_.erase(0, end + 1);
            return line;
        }
        if (read_.size() > kLongestLine)
            throw Failure(fmt::format("a message of the other end has more than {} bytes", kLongestLine),
                          "connect to the port that `rdmanet verify --server` prints");
        // Up to the end of the line and not beyond: what follows may be for another owner of the stream.
        char buffer[1024];
        ssize_t count = ::recv(fd_.get(), buffer, sizeof buffer, MSG_PEEK);
        if (count > 0) {
            const std::size_t end = std::string_view(buffer, static_cast<std::size_t>(count)).find('\n');
            count =
                ::recv(fd_.get(), buffer, end == std::string_view::npos ? static_cast<std::size_t>(count) : end + 1, 0);
        }
        if (count > 0)
            read_.append(buffer, static_cast<std::size_t>(count));
        else if (count == 0)
            throw_gone("it has closed the connection");
        else if (errno == EAGAIN)
            wait_for(POLLIN, deadline);
        else if (errno != EINTR)
            throw_gone(base::errno_text(errno));
    }
}

json::Document Channel::receive(std::string_view type, const base::Deadline& deadline) {
    const std::string line = read_line(deadline);
    try {
        json::Document document = json::Document::parse(line);
        const std::string found = document.root().at("type").string();
        if (found == "failed") throw parse_failure(document);
        if (found != type) throw document.root().at("type").unexpected(fmt::format("\"{}\"", type));
        return document;
    } catch (const PeersFailure&) {
        throw;
    } catch (const base::Error& error) {
        throw Failure(fmt::format("a message of the other end is not understood: {}", error.what()),
                      "use the same version of rdmanet on both nodes");
    }
}

bool Channel::has_news() const {
    return !read_.empty() || base::wait_for_events(fd_.get(), POLLIN, base::Deadline::in(std::chrono::seconds(0)));
}

} // namespace rdmanet::verify
