// Where a process is at which time, as the kernel's probes see it. The program needs no preparation and pays nothing
// when nobody looks.
#pragma once

#include "series.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace rdmanet::test {

/// A function of the program, by the beginning of its name as C++ writes it, up to the parenthesis.
struct Function {
    std::string name;
    std::vector<std::uint64_t> offsets{}; // in the program's file; several if the compiler made several copies
};

/// Finds functions in `map`, the linker's map of `program`. Throws base::Error if one of them has no code of its own,
/// because the compiler put it into its callers.
void find_functions(const std::filesystem::path& program, const std::filesystem::path& map,
                    std::vector<Function>& functions);

enum class What {
    exec,
    enter,
    leave,
    system_call,
    back_from_system_call,
    page_fault,
    off_processor,
    on_processor,
    exit
};

struct Moment {
    What what;
    std::uint64_t nanoseconds; // of the kernel's clock
    std::size_t function = 0;  // of `enter` and `leave`: its place in the list
};

class EventRing;

/// Watches processes on one processor. Needs root, perf_event_open(2) with uprobes, and tracefs.
class Tracer {
public:
    /// Functions of `program` in which the moments `enter` and `leave` are seen. A probe at the return must not be passed
    /// by an exception. Throws base::Error with what is missing.
    Tracer(const std::string& program, const std::vector<Function>& functions, int processor);
    Tracer(const Tracer&) = delete;
    Tracer& operator=(const Tracer&) = delete;
    ~Tracer();

    /// Runs `program` once, on that processor, to which the caller is bound. Returns its moments, in order. Throws
    /// base::Error if it fails.
    [[nodiscard]] std::vector<Moment> trace(const Program& program);

private:
    std::unique_ptr<EventRing> ring_;
};

} // namespace rdmanet::test
