// Programs that are measured side by side: running them, their times, and the table of it.
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

/// Programs of one round that belong together: the second undoes the first.
struct Series {
    std::vector<Program> programs;
    std::vector<std::vector<double>> times{}; // of each program, microseconds
    long peak_kib = 0;
};

/// Files of a measurement, until the end of the scope.
class BenchDirectory {
public:
    BenchDirectory();
    BenchDirectory(const BenchDirectory&) = delete;
    BenchDirectory& operator=(const BenchDirectory&) = delete;
    ~BenchDirectory();

    [[nodiscard]] static std::filesystem::path path();
    /// Path of a new file.
    [[nodiscard]] static std::string file_with(const std::string& name, const std::string& content);
};

/// Each time is from before posix_spawn() to after wait(); every round takes all series in a new random order. Throws
/// if a program fails.
void measure(std::vector<Series*> all, unsigned rounds);

/// For all that follows: no program pays for another's processor.
void pin_to_one_processor();

/// Commands to `plugin` with the configuration in a file, for an interface net1.
[[nodiscard]] Series cni_series(const std::string& plugin, const std::string& config, const std::string& netns,
                                const std::vector<std::string>& commands = {"ADD", "DEL"});
/// Members of a configuration: Debian's allocator.
[[nodiscard]] std::string host_local(const std::string& subnet);

/// Of a series' programs, microseconds.
[[nodiscard]] double time_of(const Series& series, std::size_t which = 0);

void print_heading();
void print_ratio(const char* what, double ours, double theirs, double goal);
/// What nobody gets below, as the kernel takes that long.
void print_floor(const char* what, double least, double theirs);
/// System calls, and requests to the kernel among them, of the first program of each; the second then undoes it.
void print_calls(const char* what, const Series& ours, const Series& theirs);

} // namespace rdmanet::test
