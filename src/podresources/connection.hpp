// A connection to a Unix socket, whose waits end at a deadline.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rdmanet::podresources {

/// Everything throws CallError, also at the deadline.
class Connection {
public:
    Connection(const std::string& path, const base::Deadline& deadline);

    /// All of the bytes.
    void send(std::span<const std::uint8_t> bytes) const;
    /// At least one byte; 0 if the other end has closed the connection.
    [[nodiscard]] std::size_t receive(std::span<std::uint8_t> buffer) const;

private:
    void wait_for(short events) const;

    base::UniqueFd fd_;
    base::Deadline deadline_;
};

} // namespace rdmanet::podresources
