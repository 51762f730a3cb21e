// The stream between the two ends: a line of JSON for each message. It says what comes next; the data goes by RDMA.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/json/reader.hpp>

#include <string>
#include <string_view>

namespace rdmanet::verify {

class Channel {
public:
    /// A connected stream socket.
    explicit Channel(base::UniqueFd fd);

    /// `message` is a JSON object. Throws Failure if the other end is gone or takes nothing until the deadline.
    void send(std::string_view message, const base::Deadline& deadline);
    /// The next message, whose member "type" must be `type`. Throws PeersFailure if the other end says "failed"
    /// instead, and Failure for everything else: its end, silence, and what is not a message.
    [[nodiscard]] json::Document receive(std::string_view type, const base::Deadline& deadline);
    /// Something has come: a message, which is a failure in a stage without messages, or the end of the stream.
    [[nodiscard]] bool has_news() const;

    /// The stream for another owner, who gets every message that was not received here.
    [[nodiscard]] base::UniqueFd release() && { return std::move(fd_); }

private:
    [[nodiscard]] std::string read_line(const base::Deadline& deadline);
    void wait_for(short events, const base::Deadline& deadline) const;

    base::UniqueFd fd_;
    std::string read_; // the beginning of a line
};

} // namespace rdmanet::verify
