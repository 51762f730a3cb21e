#include <rdmanet/kernel/netdev_files.hpp>

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

namespace rdmanet::kernel {
namespace {

constexpr std::string_view kQueues = "queues/tx-";

std::string directory_of(const base::InterfaceName& interface) {
    return fmt::format("/sys/class/net/{}", interface.to_string());
}

/// nullopt if the driver has no such setting (EOPNOTSUPP), or the interface is about to go (ENODEV).
std::optional<std::string> find_setting(int directory, const std::string& file) try {
    return base::find_line(directory, file);
} catch (const base::SystemError& error) {
    if (error.errno_value() == EOPNOTSUPP || error.errno_value() == ENODEV) return std::nullopt;
    throw;
}

/// The same file of the first queue: "queues/tx-0/tx_maxrate" for "queues/tx-7/tx_maxrate".
std::string of_first_queue(const std::string& file) {
    if (!file.starts_with(kQueues)) return file;
    return fmt::format("{}0{}", kQueues, file.substr(file.find('/', kQueues.size())));
}

} // namespace

NetdevFilesRead read_netdev_files(const base::InterfaceName& interface) {
    NetdevFilesRead found;
    const base::UniqueFd directory = base::open_directory(directory_of(interface));
    if (!directory) return found;
    const auto add = [&](const std::string& file) {
        try {
            if (auto value = find_setting(directory.get(), file)) found.files.emplace(file, *std::move(value));
        } catch (const base::SystemError& error) {
            found.unreadable.emplace(file, error.what());
        }
    };
    for (const char* file : {"gro_flush_timeout", "napi_defer_hard_irqs"}) add(file);
    for (const std::string& queue : base::list_directory(fmt::format("{}/queues", directory_of(interface)))) {
        if (!queue.starts_with("tx-")) continue;
        for (const char* file : {"tx_maxrate", "byte_queue_limits/limit_max", "byte_queue_limits/limit_min",
                                 "byte_queue_limits/hold_time"})
            add(fmt::format("queues/{}/{}", queue, file));
    }
    return found;
}

void write_netdev_file(const base::InterfaceName& interface, const std::string& file, const std::string& value) {
    const std::string path = fmt::format("{}/{}", directory_of(interface), file);
    const base::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd || ::write(fd.get(), value.data(), value.size()) < 0)
        throw base::SystemError(fmt::format("write {} to {}", value, path), errno);
}

NetdevFiles without_repetitions(const NetdevFiles& files) {
    NetdevFiles rest;
    for (const auto& [file, value] : files) {
        const std::string first = of_first_queue(file);
        const auto of_first = files.find(first);
        if (file == first || of_first == files.end() || of_first->second != value) rest.emplace(file, value);
    }
    return rest;
}

std::string find_value(const NetdevFiles& files, const std::string& file) {
    auto found = files.find(file);
    if (found == files.end()) found = files.find(of_first_queue(file));
    return found == files.end() ? std::string() : found->second;
}

} // namespace rdmanet::kernel
