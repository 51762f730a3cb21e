#include "kernel_messages.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace rdmanet::doctor {

KernelMessage parse_kernel_message(std::string_view record) {
    const std::size_t text = record.find(';');
    if (text == std::string_view::npos) return {};
    KernelMessage message;
    const std::size_t number = record.find(',');
    const std::size_t time = record.find(',', number + 1);
    if (time < text) {
        const std::string_view digits = record.substr(time + 1, record.find_first_of(",;", time + 1) - time - 1);
        message.time = std::chrono::microseconds(base::parse_integer<std::int64_t>(digits).value_or(0));
    }
    message.text = record.substr(text + 1, record.find('\n', text) - text - 1); // lines behind it are KEY=value
    return message;
}

const std::vector<KernelMessage>& KernelLog::messages() {
    if (messages_) return *messages_;
    const base::UniqueFd log(::open((root_ + "/dev/kmsg").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!log) throw base::SystemError("open /dev/kmsg", errno);
    ::lseek(log.get(), 0, SEEK_DATA);      // behind the last clear; on another file it fails, and all is read
    constexpr std::size_t kMost = 100'000; // somebody may write faster than this reads
    std::vector<KernelMessage> all;
    std::array<char, 8192> record; // CONSOLE_EXT_LOG_MAX: a read returns one record
    for (std::size_t reads = 0; reads < kMost; ++reads) {
        const ssize_t size = ::read(log.get(), record.data(), record.size());
        if (size < 0 && (errno == EPIPE || errno == EINTR)) continue; // it was overwritten: the oldest one follows
        if (size <= 0) break;
        all.push_back(parse_kernel_message({record.data(), static_cast<std::size_t>(size)}));
    }
    return messages_.emplace(std::move(all));
}

} // namespace rdmanet::doctor
