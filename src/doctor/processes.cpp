#include "processes.hpp"

#include "files.hpp"

#include <rdmanet/base/text.hpp>

#include <string_view>

namespace rdmanet::doctor {

std::vector<std::string> list_processes(const Context& context) {
    std::vector<std::string> found;
    for (const std::string& name : names_in(context.path("/proc")))
        if (name.front() >= '0' && name.front() <= '9') found.push_back(context.path(fmt::format("/proc/{}", name)));
    return found;
}

std::string program_of(const std::string& process) {
    return line_of(fmt::format("{}/comm", process));
}

std::optional<std::uint64_t> locked_memory_of(const std::string& process) {
    constexpr std::string_view kLine = "Max locked memory"; // "Max locked memory  8388608  8388608  bytes"
    for (const std::string& line : lines_of(fmt::format("{}/limits", process)))
        if (line.starts_with(kLine)) {
            const std::size_t begin = line.find_first_not_of(' ', kLine.size());
            return base::parse_integer<std::uint64_t>(line.substr(begin, line.find(' ', begin) - begin));
        }
    return std::nullopt;
}

} // namespace rdmanet::doctor
