#include "calls.hpp"

#include <fstream>
#include <regex>
#include <set>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;

/// Each thread writes its own file, because lines of several threads would be mixed.
fs::path trace_directory() {
    return BenchDirectory::path() / "calls";
}

std::vector<std::string> lines_of_traces() {
    std::vector<std::string> lines;
    for (const auto& entry : fs::directory_iterator(trace_directory())) {
        std::ifstream file(entry.path());
        for (std::string line; std::getline(file, line);) lines.push_back(line);
    }
    return lines;
}

} // namespace

Program traced(const Program& program) {
    fs::create_directories(trace_directory());
    Program strace = program;
    // -y shows what a descriptor is open for, "3<socket:[4711]>". The number identifies the socket in every process.
    strace.arguments = {"/usr/bin/strace", "-ff", "-y", "-o", trace_directory() / "of", "--"};
    strace.arguments.insert(strace.arguments.end(), program.arguments.begin(), program.arguments.end());
    return strace;
}

Calls read_calls() {
    static const std::regex a_call(R"(^\w+\(.*)");
    static const std::regex opens(R"(^socket\(AF_NETLINK.* = \d+<(.*)>$)");
    static const std::regex sends(R"(^send(?:to|msg)\(\d+<([^>]*)>.*)");
    const std::vector<std::string> lines = lines_of_traces();
    Calls calls;
    std::set<std::string> sockets;
    std::smatch match;
    for (const std::string& line : lines) {
        if (std::regex_match(line, a_call)) ++calls.all;
        if (std::regex_match(line, match, opens)) sockets.insert(match[1]);
    }
    for (const std::string& line : lines)
        if (std::regex_match(line, match, sends) && sockets.contains(match[1])) ++calls.netlink;
    fs::remove_all(trace_directory());
    return calls;
}

} // namespace rdmanet::test
