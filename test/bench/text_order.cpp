// Prints the linker script that puts the code of usual calls side by side (cmake/first_text.ld).
//
//   text_order      as root, in its own network namespace
//
// It runs each call instruction by instruction. What runs first comes first. A file of a library whose functions the
// linker cannot part, and of which little runs, comes last.
#include "linker_map.hpp"
#include "series.hpp"
#include "support/concat.hpp"
#include "support/node.hpp"
#include "support/plugin_call.hpp"

#include <rdmanet/base/error.hpp>

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace rdmanet::test {
namespace {

constexpr std::uint64_t kLine = 64; // of the processor's cache

/// What ran of the program.
struct Run {
    std::vector<std::size_t> order;  // sections, by their first instruction
    std::set<std::uint64_t> lines{}; // of the code, in units of kLine
};

/// Where the kernel put the program.
std::uint64_t base_of(pid_t process) {
    std::ifstream maps(concat("/proc/", process, "/maps"));
    std::string line;
    std::getline(maps, line);
    return std::stoull(line, nullptr, 16);
}

std::size_t section_at(const std::vector<Section>& sections, std::uint64_t address) {
    const auto after = std::upper_bound(sections.begin(), sections.end(), address,
                                        [](std::uint64_t at, const Section& section) { return at < section.address; });
    if (after == sections.begin()) return sections.size();
    const auto at = static_cast<std::size_t>(after - sections.begin() - 1);
    return address < sections[at].address + sections[at].size ? at : sections.size();
}

[[noreturn]] void become(const Program& program) {
    const auto argv = pointers_to(program.arguments);
    const auto env = pointers_to(program.environment);
    (void)::dup2(::open(program.input.c_str(), O_RDONLY), STDIN_FILENO);
    (void)::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    (void)::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::execve(argv[0], argv.data(), env.data());
    ::_exit(127);
}

void step_through(const Program& program, const std::vector<Section>& sections, Run& run) {
    const pid_t process = ::fork();
    if (process < 0) throw base::SystemError("fork", errno);
    if (process == 0) become(program);
    int status = 0;
    ::waitpid(process, &status, 0);
    const std::uint64_t base = WIFSTOPPED(status) ? base_of(process) : 0;
    std::set<std::size_t> seen(run.order.begin(), run.order.end());
    while (!WIFEXITED(status)) {
        user_regs_struct registers{};
        (void)::ptrace(PTRACE_GETREGS, process, nullptr, &registers);
        const std::uint64_t address = registers.rip - base;
        const std::size_t section = section_at(sections, address);
        if (section != sections.size()) {
            run.lines.insert(address / kLine);
            if (seen.insert(section).second) run.order.push_back(section);
        }
        if (::ptrace(PTRACE_SINGLESTEP, process, nullptr, nullptr) != 0) throw base::SystemError("ptrace", errno);
        ::waitpid(process, &status, 0);
    }
    if (WEXITSTATUS(status) != 0) throw base::Error(concat(program.arguments[0], " failed, status ", status));
}

/// Whether most of a section runs. A small one costs nothing.
bool is_dense(const Section& section, const std::set<std::uint64_t>& lines) {
    constexpr std::uint64_t kSmall = 2048;
    constexpr std::uint64_t kSparse = 10; // one line of so many runs
    const auto first = lines.lower_bound(section.address / kLine);
    const auto last = lines.upper_bound((section.address + section.size) / kLine);
    const auto count = static_cast<std::uint64_t>(std::distance(first, last));
    return section.size < kSmall || count * kLine * kSparse >= section.size;
}

/// How a linker script names the section. The names of functions are unique; others need the name of their file.
std::string pattern_of(const Section& section) {
    if (section.name != ".text" && section.name.find("._Z") != std::string::npos)
        return concat("*(", section.name, ")");
    std::string file = section.file.substr(section.file.rfind('/') + 1);
    if (const auto member = file.find('('); member != std::string::npos)
        file = concat(file.substr(0, member), ':', file.substr(member + 1, file.size() - member - 2));
    if (file.starts_with("libm-")) file.replace(0, file.find(".a"), "libm-*"); // without the C library's version
    return concat('*', file, '(', section.name, ')');
}

void print(const std::vector<Section>& sections, const Run& run) {
    std::vector<std::size_t> order = run.order;
    std::stable_partition(order.begin(), order.end(),
                          [&](std::size_t at) { return is_dense(sections[at], run.lines); });
    std::puts("/* What usual calls run, side by side: fewer pages, which the kernel maps one after the other. Made by\n"
              " * test/bench/run.sh --order-text. A name that the program no longer has does no harm. */\n"
              "SECTIONS\n{\n  .text_first :\n  {");
    for (const std::size_t at : order) std::printf("    %s\n", pattern_of(sections[at]).c_str());
    std::puts("  }\n}\nINSERT BEFORE .text;");
}

int run() {
    const BenchDirectory files;
    const VethParent parent("bench0");
    const Pod pod("bench-pod");
    const std::string config = BenchDirectory::file_with("ours.json", macvlan_config(parent.name()));
    const std::vector<Section> sections = read_map(concat(binary(), ".map"));
    Series warm_up = cni_series(binary(), config, pod.path());
    measure({&warm_up}, 1);
    Run run;
    for (const Program& call : cni_series(binary(), config, pod.path(), {"VERSION", "STATUS", "ADD", "DEL"}).programs)
        step_through(call, sections, run);
    print(sections, run);
    return 0;
}

} // namespace
} // namespace rdmanet::test

int main() {
    try {
        return rdmanet::test::run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "text_order: %s\n", error.what());
        return 1;
    }
}
