#include "node_programs.hpp"

#include "files.hpp"
#include "processes.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>

#include <algorithm>
#include <cstddef>

namespace rdmanet::doctor {
namespace {

std::vector<std::string> arguments_of(const std::string& process) {
    const std::string text = content_of(fmt::format("{}/cmdline", process));
    std::vector<std::string> arguments;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\0', at), text.size());
        arguments.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return arguments;
}

} // namespace

bool is_in_pod(const std::string& process) {
    return content_of(fmt::format("{}/cgroup", process)).find("kubepods") != std::string::npos;
}

std::string unit_of(const std::string& process) {
    constexpr std::string_view kUnit = ".service";
    for (const std::string& line : lines_of(fmt::format("{}/cgroup", process))) {
        const std::size_t at = line.rfind(kUnit);
        if (at == std::string::npos) continue;
        const std::size_t end = at + kUnit.size(); // cgroups below it may be the program's own
        if (end == line.size() || line[end] == '/')
            return line.substr(line.rfind('/', at) + 1, end - line.rfind('/', at) - 1);
    }
    return {};
}

std::optional<std::string> option_of(const std::string& process, std::initializer_list<std::string_view> names) {
    const auto arguments = arguments_of(process);
    for (std::size_t number = 0; number < arguments.size(); ++number) {
        std::string_view argument = arguments[number];
        if (!argument.starts_with('-')) continue;
        argument.remove_prefix(argument.starts_with("--") ? 2 : 1);
        const std::size_t equals = argument.find('=');
        if (std::ranges::find(names, argument.substr(0, equals)) == names.end()) continue;
        if (equals != std::string_view::npos) return std::string(argument.substr(equals + 1));
        if (number + 1 < arguments.size()) return arguments[number + 1];
    }
    return std::nullopt;
}

void look_at_each(const std::vector<std::string>& processes, const std::function<void(const std::string&)>& look) {
    std::string first;
    for (const std::string& process : processes) try {
            look(process);
        } catch (const base::Error& error) {
            if (first.empty()) first = fmt::format("{}: {}", name_of_process(process), error.what());
        }
    if (!first.empty()) throw base::Error(first);
}

} // namespace rdmanet::doctor
