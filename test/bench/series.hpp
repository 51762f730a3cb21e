// Runs programs side by side, measures their times, and prints a table.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rdmanet::test {

constexpr const char* kCniPath = "/usr/lib/cni";

struct Program {
    std::vector<std::string> arguments;
    std::vector<std::string> environment;
    std::string input = "/dev/null"; // path
};

/// What execve(2) takes. The strings must outlive it.
[[nodiscard]] std::vector<char*> pointers_to(const std::vector<std::string>& strings);

/// Programs of one round that belong together. The second one undoes the first.
struct Series {
    std::vector<Program> programs;
    std::vector<std::vector<double>> times{}; // microseconds, for each program
};

/// Files of a measurement, which are deleted at the end of the scope.
class BenchDirectory {
public:
    BenchDirectory();
    BenchDirectory(const BenchDirectory&) = delete;
    BenchDirectory& operator=(const BenchDirectory&) = delete;
    ~BenchDirectory();

    [[nodiscard]] static std::filesystem::path path();
    /// Writes a new file and returns its path.
    [[nodiscard]] static std::string file_with(const std::string& name, const std::string& content);
};

/// A time lasts from before posix_spawn() to after wait(). Every round runs all series in a new random order. Throws
/// if a program fails.
void measure(std::vector<Series*> all, unsigned rounds);

/// Applies to all later programs, so that none of them measures a change of processor.
void pin_to_one_processor();

/// Calls of `plugin` for an interface net1, with the configuration in a file.
[[nodiscard]] Series cni_series(const std::string& plugin, const std::string& config, const std::string& netns,
                                const std::vector<std::string>& commands = {"ADD", "DEL"});
/// A network of macvlan children with addresses of the built-in allocator. `more`: members, each with a comma behind.
[[nodiscard]] std::string macvlan_config(const std::string& parent, const std::string& more = {});
/// Calls of the C program that only sends the same netlink requests.
[[nodiscard]] Series minimal_series(const std::string& program, const std::string& netns, const std::string& parent);
/// Members of a configuration with Debian's allocator host-local.
[[nodiscard]] std::string host_local(const std::string& subnet);

/// The median time of a series' program, in microseconds.
[[nodiscard]] double time_of(const Series& series, std::size_t which = 0);
/// Runs the program. Not by posix_spawn(), whose child has the memory of this process until execve(2), and so its peak.
[[nodiscard]] double peak_mib_of(const Program& program);

void print_heading();
void print_ratio(const char* what, double ours, double theirs, double goal);
/// Prints the lower limit, which is the kernel's own time.
void print_floor(const char* what, double least, double theirs);
/// Prints the system calls and kernel requests of each series' first program. The second one then undoes it.
void print_calls(const char* what, const Series& ours, const Series& theirs);

} // namespace rdmanet::test
