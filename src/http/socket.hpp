// A TCP connection whose every wait ends at a deadline.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/socket_address.hpp>
#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/base/url.hpp>
#include <rdmanet/http/failure.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rdmanet::http {

/// Why a step failed; whoever knows the endpoint and the request makes a TransportError of it.
struct Failure {
    Stage stage;
    std::string why;
    Cause cause = Cause::other;
};

class Socket {
public:
    /// The first address of the host that answers; each has its share of the time. Throws Failure.
    [[nodiscard]] static Socket connect(const base::Url& url, const base::Deadline& deadline);
    /// Throws Failure.
    [[nodiscard]] static Socket connect_to(const base::SocketAddress& to, const base::Deadline& deadline);

    /// Throws Failure.
    void write_all(std::string_view bytes, const base::Deadline& deadline);
    /// At least one byte; 0 at the end of the stream. Throws Failure.
    [[nodiscard]] std::size_t read_some(std::span<char> buffer, const base::Deadline& deadline);

    /// What its bytes are for from now on: its failures say so.
    void enter(Stage stage) { stage_ = stage; }

private:
    explicit Socket(base::UniqueFd fd) : fd_(std::move(fd)) {}
    base::UniqueFd fd_;
    Stage stage_ = Stage::tcp;
};

/// A socket for datagrams to that address and from it, which never waits. Without a descriptor if there can be none.
[[nodiscard]] base::UniqueFd connect_datagrams(const base::SocketAddress& to);

} // namespace rdmanet::http
