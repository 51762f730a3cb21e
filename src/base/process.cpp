#include <rdmanet/base/process.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/text.hpp>

namespace rdmanet::base {

std::string describe_process(std::int64_t pid) {
    constexpr std::size_t kMostBytes = 64; // TASK_COMM_LEN is 16, with escapes
    std::string number = concat("process ", pid);
    try {
        const std::string name = read_file(concat("/proc/", pid, "/comm"), kMostBytes);
        return concat(number, " (", name.substr(0, name.find('\n')), ')');
    } catch (const SystemError&) {
        return number;
    }
}

} // namespace rdmanet::base
