#include "kernel_messages.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace rdmanet::doctor {

std::vector<std::string> read_kernel_messages(const Context& context) {
    const base::UniqueFd log(::open(context.path("/dev/kmsg").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!log) throw base::SystemError("open /dev/kmsg", errno);
    ::lseek(log.get(), 0, SEEK_DATA); // behind the last clear; on another file it fails, and all is read
    std::vector<std::string> messages;
    std::array<char, 8192> record; // CONSOLE_EXT_LOG_MAX: a read returns one record
    // EPIPE: the next record was overwritten. The read after it continues with the oldest.
    for (ssize_t size = 0;
         (size = ::read(log.get(), record.data(), record.size())) > 0 || (size < 0 && errno == EPIPE);) {
        if (size <= 0) continue;
        std::string_view text(record.data(), static_cast<std::size_t>(size)); // "6,1,0,-;the message\n KEY=value\n"
        text.remove_prefix(std::min(text.find(';'), text.size() - 1) + 1);
        messages.emplace_back(text.substr(0, text.find('\n')));
    }
    return messages;
}

} // namespace rdmanet::doctor
