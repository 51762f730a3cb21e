#include "trace.hpp"

#include "event_ring.hpp"
#include "linker_map.hpp"
#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;

std::string demangled(const std::string& symbol) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                      std::free);
    return name ? name.get() : symbol;
}

/// How far an address of the code is from its place in the file.
std::uint64_t code_shift(const fs::path& program) {
    std::ifstream file(program, std::ios::binary);
    Elf64_Ehdr header{};
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    file.seekg(static_cast<std::streamoff>(header.e_phoff));
    for (int i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        file.read(reinterpret_cast<char*>(&segment), sizeof segment);
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) return segment.p_vaddr - segment.p_offset;
    }
    throw base::Error(concat(program.string(), " has no code"));
}

/// Names and addresses of the functions that have sections of their own.
std::multimap<std::string, std::uint64_t> functions_in(const fs::path& map) {
    std::multimap<std::string, std::uint64_t> functions;
    for (const Section& section : read_map(map))
        functions.emplace(demangled(section.name.substr(section.name.rfind('.') + 1)), section.address);
    return functions;
}

std::uint64_t number_in(const fs::path& path, const char* need) {
    std::ifstream file(path);
    std::uint64_t number = 0;
    if (!(file >> number)) throw base::Error(concat(path.string(), " cannot be read: ", need));
    return number;
}

void add_probes(EventRing& ring, const std::string& program, const std::vector<Function>& functions) {
    perf_event_attr attributes{};
    attributes.type = static_cast<std::uint32_t>(
        number_in("/sys/bus/event_source/devices/uprobe/type", "the kernel has no uprobes (CONFIG_UPROBE_EVENTS)"));
    attributes.sample_period = 1;
    attributes.uprobe_path = reinterpret_cast<std::uint64_t>(program.c_str());
    for (std::size_t i = 0; i < functions.size(); ++i)
        for (const std::uint64_t offset : functions[i].offsets) {
            attributes.probe_offset = offset;
            attributes.config = 0;
            ring.add(attributes, What::enter, i);
            attributes.config = 1; // its return (uprobe/format/retprobe)
            ring.add(attributes, What::leave, i);
        }
}

void add_system_calls_and_faults(EventRing& ring) {
    const fs::path events = "/sys/kernel/tracing/events/raw_syscalls";
    const char* const fix = "mount -t tracefs none /sys/kernel/tracing";
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_TRACEPOINT;
    attributes.sample_period = 1;
    attributes.config = number_in(events / "sys_enter/id", fix);
    ring.add(attributes, What::system_call);
    attributes.config = number_in(events / "sys_exit/id", fix);
    ring.add(attributes, What::back_from_system_call);
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_PAGE_FAULTS;
    ring.add(attributes, What::page_fault);
}

/// Becomes the program when the other end of `start` is closed.
[[noreturn]] void wait_and_exec(const Program& program, int start) {
    const auto argv = pointers_to(program.arguments);
    const auto env = pointers_to(program.environment);
    const int input = ::open(program.input.c_str(), O_RDONLY);
    const int output = ::open("/dev/null", O_WRONLY);
    char byte = 0;
    if (::dup2(input, STDIN_FILENO) == 0 && ::dup2(output, STDOUT_FILENO) == STDOUT_FILENO &&
        ::read(start, &byte, 1) == 0)
        ::execve(argv[0], argv.data(), env.data());
    ::_exit(127);
}

} // namespace

void find_functions(const fs::path& program, const fs::path& map, std::vector<Function>& functions) {
    const std::uint64_t shift = code_shift(program);
    const auto known = functions_in(map);
    for (Function& function : functions) {
        for (const auto& [name, address] : known) {
            const bool is_it = name == function.name || name.starts_with(concat(function.name, '(')) ||
                               name.starts_with(concat(function.name, "[abi:cxx11]("));
            if (is_it && name.find("{lambda") == std::string::npos) function.offsets.push_back(address - shift);
        }
        std::sort(function.offsets.begin(), function.offsets.end());
        function.offsets.erase(std::unique(function.offsets.begin(), function.offsets.end()), function.offsets.end());
        if (function.offsets.empty()) throw base::Error(concat(function.name, " has no code of its own"));
    }
}

Tracer::Tracer(const std::string& program, const std::vector<Function>& functions, int processor)
    : ring_(std::make_unique<EventRing>(processor)) {
    add_probes(*ring_, program, functions);
    add_system_calls_and_faults(*ring_);
}

Tracer::~Tracer() = default;

std::vector<Moment> Tracer::trace(const Program& program) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw base::SystemError("make a pipe", errno);
    const base::UniqueFd reader(ends[0]);
    base::UniqueFd writer(ends[1]);
    const pid_t child = ::fork();
    if (child < 0) throw base::SystemError("fork", errno);
    if (child == 0) {
        writer.reset();
        wait_and_exec(program, reader.get());
    }
    ring_->forget_all();
    writer.reset();
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) throw base::Error(concat(program.arguments[0], " failed, wait status ", status));
    return ring_->take_moments_of(static_cast<std::uint32_t>(child));
}

} // namespace rdmanet::test
