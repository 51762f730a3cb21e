// Where the time of an ADD and of a DEL goes, by part.
//
//   parts_bench [ROUNDS]      as root, in its own network namespace, with tracefs in /sys/kernel/tracing
//
// The kernel's probes watch the installed program (trace.hpp). Each probe takes some microseconds of its own, so the
// parts are longer together than a call that nobody watches: spawn_bench measures that.
#include "series.hpp"
#include "support/concat.hpp"
#include "support/node.hpp"
#include "support/plugin_call.hpp"
#include "trace.hpp"

#include <rdmanet/base/error.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace rdmanet::test {
namespace {

constexpr int kProcessor = 0; // pin_to_one_processor()

/// A part begins when one of its functions is called, and ends with its return. What a function calls and has a part
/// of its own belongs to that part alone.
struct Part {
    const char* name;
    std::vector<const char*> functions;
};

constexpr std::size_t kStart = 0;

const std::vector<Part> kParts{
    {"start: until main", {}},
    {"everything else", {"main"}},
    {"read the request",
     {"rdmanet::cni::read_configuration", "rdmanet::cni::parse_request", "rdmanet::cmd::read_config"}},
    {"look: pod, parent, plan",
     {"rdmanet::attach::find_target", "rdmanet::attach::prepare", "rdmanet::attach::lock_parent"}},
    {"lease: search, reserve, release", {"rdmanet::attach::take_leases", "rdmanet::ipam::SqliteStore::release"}},
    {"lease: open the file", {"rdmanet::ipam::Database::Database"}},
    {"lease: schema and statements", {"rdmanet::ipam::Database::prepare"}},
    {"lease: lock and commit", {"rdmanet::ipam::Transaction::Transaction", "rdmanet::ipam::Transaction::commit"}},
    {"journal",
     {"rdmanet::state::AttachmentStore::load", "rdmanet::state::AttachmentStore::save",
      "rdmanet::state::AttachmentStore::remove"}},
    {"locks", {"rdmanet::state::AttachmentStore::lock_file"}},
    {"pod's namespace: enter, leave",
     {"rdmanet::kernel::NetnsScope::NetnsScope", "rdmanet::kernel::NetnsScope::~NetnsScope"}},
    {"netlink: sockets", {"rdmanet::kernel::Socket::open_fd", "rdmanet::kernel::Socket::~Socket"}},
    {"netlink: look for a link", {"rdmanet::kernel::find_link"}},
    {"netlink: make the link", {"rdmanet::kernel::add_link"}},
    {"netlink: announce, link up", {"rdmanet::kernel::change_link"}},
    {"netlink: add the address", {"rdmanet::kernel::add_address"}},
    {"netlink: remove the link", {"rdmanet::kernel::remove_link"}},
    {"print the result", {"rdmanet::cmd::(anonymous namespace)::print"}},
};

struct Cost {
    double microseconds = 0;
    double in_kernel = 0; // system calls
    double waiting = 0;   // off the processor
    double system_calls = 0;
    double faults = 0;
};

using Costs = std::vector<Cost>; // for each part

/// Follows one call through its parts.
class Splitter {
public:
    explicit Splitter(const std::vector<std::size_t>& part_of) : part_of_(part_of), costs_(kParts.size()) {}

    Costs split(const std::vector<Moment>& moments) {
        for (const Moment& moment : moments) {
            if (last_ != 0) spend(static_cast<double>(moment.nanoseconds - last_) / 1000);
            if (last_ != 0 || moment.what == What::exec) last_ = moment.nanoseconds;
            if (last_ != 0) see(moment);
        }
        return costs_;
    }

private:
    void spend(double microseconds) {
        Cost& cost = costs_[inside_.back()];
        cost.microseconds += microseconds;
        if (is_off_)
            cost.waiting += microseconds;
        else if (is_in_call_)
            cost.in_kernel += microseconds;
    }

    void see(const Moment& moment) {
        switch (moment.what) {
        case What::enter: inside_.push_back(part_of_[moment.function]); break;
        case What::leave: inside_.pop_back(); break;
        case What::system_call:
            is_in_call_ = true;
            ++costs_[inside_.back()].system_calls;
            break;
        case What::back_from_system_call: is_in_call_ = false; break;
        case What::page_fault: ++costs_[inside_.back()].faults; break;
        case What::off_processor: is_off_ = true; break;
        case What::on_processor: is_off_ = false; break;
        case What::exec:
        case What::exit: break;
        }
    }

    const std::vector<std::size_t>& part_of_;
    Costs costs_;
    std::vector<std::size_t> inside_{kStart};
    std::uint64_t last_ = 0;
    bool is_in_call_ = false;
    bool is_off_ = false;
};

/// The functions of all parts, and the part of each.
struct Watched {
    std::vector<Function> functions;
    std::vector<std::size_t> part_of;

    Watched() {
        for (std::size_t part = 0; part < kParts.size(); ++part)
            for (const char* name : kParts[part].functions) {
                functions.push_back({name});
                part_of.push_back(part);
            }
        find_functions(binary(), concat(binary(), ".map"), functions);
    }
};

using Rounds = std::vector<Costs>;

/// Runs the programs one after the other, in each round. One entry for each program.
std::vector<Rounds> watch(const std::vector<Program>& programs, unsigned rounds) {
    const Watched watched;
    Tracer tracer(binary(), watched.functions, kProcessor);
    std::vector<Rounds> all(programs.size());
    for (unsigned round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < programs.size(); ++i)
            all[i].push_back(Splitter(watched.part_of).split(tracer.trace(programs[i])));
    return all;
}

/// Between exec and the system call after the first `calls`.
double start_of(const std::vector<Moment>& moments, double calls) {
    std::uint64_t began = 0;
    for (const Moment& moment : moments) {
        if (moment.what == What::exec) began = moment.nanoseconds;
        if (began != 0 && moment.what == What::system_call && calls-- == 0)
            return static_cast<double>(moment.nanoseconds - began) / 1000;
    }
    throw base::Error("the program ended before its start");
}

/// A probe at main would give the program copies of pages, which takes longer than the start. So nobody probes it, and
/// it ends with its last system call, whose number is known.
double measure_start(const Program& program, double calls, unsigned rounds) {
    Tracer tracer(binary(), {}, kProcessor);
    std::vector<double> times;
    for (unsigned round = 0; round < rounds; ++round) times.push_back(start_of(tracer.trace(program), calls));
    return median(std::move(times));
}

Cost median_of(const Rounds& rounds, std::size_t part) {
    const auto of = [&](double Cost::*member) {
        std::vector<double> values;
        for (const Costs& costs : rounds) values.push_back(costs[part].*member);
        return median(std::move(values));
    };
    return {of(&Cost::microseconds), of(&Cost::in_kernel), of(&Cost::waiting), of(&Cost::system_calls),
            of(&Cost::faults)};
}

void print_row(const char* name, const Cost& cost) {
    std::printf("%-34s %8.0f %8.0f %8.0f %8.0f %8.0f\n", name, cost.microseconds, cost.in_kernel, cost.waiting,
                cost.system_calls, cost.faults);
}

void print(const char* what, const Rounds& rounds, double start) {
    std::printf("%-34s %8s %8s %8s %8s %8s\n", what, "us", "kernel", "waiting", "calls", "faults");
    Cost sum;
    for (std::size_t part = 0; part < kParts.size(); ++part) {
        Cost cost = median_of(rounds, part);
        if (part == kStart) cost.microseconds = start;
        if (cost.microseconds == 0) continue;
        print_row(kParts[part].name, cost);
        for (double Cost::*member :
             {&Cost::microseconds, &Cost::in_kernel, &Cost::waiting, &Cost::system_calls, &Cost::faults})
            sum.*member += cost.*member;
    }
    print_row("together", sum);
    std::puts("");
}

int run(unsigned rounds) {
    const BenchDirectory files;
    const VethParent parent("bench0");
    const Pod pod("bench-pod");
    const std::string config = BenchDirectory::file_with("ours.json", macvlan_config(parent.name()));
    Series ours = cni_series(binary(), config, pod.path());
    const Series version = cni_series(binary(), config, pod.path(), {"VERSION"});
    pin_to_one_processor();
    measure({&ours}, 1); // makes the files, which an exception tells
    const std::vector<Rounds> calls = watch(ours.programs, rounds);
    const double start = measure_start(version.programs[0], median_of(calls[0], kStart).system_calls, rounds);
    print("macvlan ADD", calls[0], start);
    print("macvlan DEL", calls[1], start);
    return 0;
}

} // namespace
} // namespace rdmanet::test

int main(int argc, char** argv) {
    try {
        return rdmanet::test::run(argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 50);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "parts_bench: %s\n", error.what());
        return 1;
    }
}
