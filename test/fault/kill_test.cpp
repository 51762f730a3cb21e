// The plugin is killed before any system call of ADD, DEL, CHECK or GC. The next DEL or GC restores the node.
#include "faults.hpp"
#include "kinds.hpp"
#include "sampling.hpp"
#include "stage.hpp"
#include "traced_run.hpp"

#include "support/concat.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace rdmanet::test {
namespace {

enum class Recovery : std::uint8_t { del, runtime_gc, person_gc };
constexpr Recovery kRecoveries[] = {Recovery::del, Recovery::runtime_gc, Recovery::person_gc};

const char* command_of(Recovery recovery) {
    return recovery == Recovery::del ? "DEL" : recovery == Recovery::runtime_gc ? "GC" : "rdmanet gc";
}

struct Point {
    Fault fault;
    Recovery recovery;
};

/// Every kill with every recovery that there is: before GC the pod ends. A kill's recoveries are adjacent, so that a
/// sample has all of them.
std::vector<Point> points_of(const std::vector<SystemCall>& calls, bool outlives_pod) {
    std::vector<Point> points;
    for (const Fault& fault : kills_at(calls))
        for (const Recovery recovery : kRecoveries)
            if (outlives_pod || recovery == Recovery::del) points.push_back({fault, recovery});
    return points;
}

class Killer {
public:
    Killer(Stage& stage, std::string command) : stage_(stage), command_(std::move(command)) { remember(); }

    void play() {
        REQUIRE(stage_.prepare_for(command_) == "");
        const auto calls = run_traced(binary(), stage_.prepared_call(command_).options()).calls;
        REQUIRE(recover(Recovery::del) == ""); // otherwise the points prove nothing
        const auto all = points_of(calls, stage_.device_outlives_pod());
        const auto points =
            sample_of(all, [](const Point& one, const Point& other) { return is_same_call(one.fault, other.fault); });
        std::size_t missed = 0;
        for (const Point& point : points) missed += play_at(point) ? 0 : 1;
        std::cout << "     " << command_ << " killed at " << points.size() - missed << " of " << all.size()
                  << " points: " << calls.size() << " system calls, each with "
                  << (stage_.device_outlives_pod() ? "DEL, GC and rdmanet gc" : "DEL") << " after it" << std::endl;
    }

private:
    void remember() {
        stage_.destroy_pod();
        without_pod_ = stage_.node();
        stage_.create_pod();
        with_pod_ = stage_.node();
    }

    /// Returns what is wrong after the recovery. The pod ends before GC, because GC keeps what a live namespace has.
    std::string recover(Recovery recovery) {
        if (recovery == Recovery::del) {
            const std::string failed = stage_.run("DEL");
            return failed + difference_from(stage_.has_pod() ? with_pod_ : without_pod_);
        }
        if (stage_.has_pod()) stage_.destroy_pod();
        const std::string wrong =
            recovery == Recovery::runtime_gc ? stage_.collect_as_runtime() : stage_.collect_as_person();
        return wrong + difference_from(without_pod_);
    }

    /// False if this run did not reach the call. Waiting for the kernel sometimes takes more calls.
    bool play_at(const Point& point) {
        std::string wrong = stage_.prepare_for(command_);
        const TracedResult killed = run_traced(binary(), stage_.prepared_call(command_).options(), point.fault);
        if (killed.left_children) wrong += "a delegate outlived the plugin\n";
        wrong += recover(point.recovery);
        if (wrong.empty()) return killed.reached;
        FAIL_CHECK(concat(command_, " killed before ", killed.at.text, " (call ", point.fault.occurrence,
                          " of that name), then ", command_of(point.recovery), ":\n", wrong));
        stage_.reset();
        remember();
        return killed.reached;
    }

    Stage& stage_;
    std::string command_;
    NodeState with_pod_;
    NodeState without_pod_;
};

void kill_everywhere(const std::string& kind, Ipam ipam, const Commands& commands) {
    const std::string missing = missing_for(kind, ipam);
    NEEDS(missing.empty(), missing);
    for (const std::string& command : commands) {
        if (!is_wanted(command)) continue;
        Stage stage(kind, ipam);
        Killer(stage, command).play();
    }
}

} // namespace

#define KILL_EVERYWHERE(name, tags, kind, ipam, commands)                                                              \
    TEST_CASE(name ", killed at any system call", "[kill]" tags) {                                                     \
        kill_everywhere(kind, Ipam::ipam, commands);                                                                   \
    }
RDMANET_FAULT_KINDS(KILL_EVERYWHERE)

TEST_CASE("leases in the cluster, killed at any system call", "[kill][cluster]") {
    for (const std::string& kind : kinds_in_cluster()) kill_everywhere(kind, Ipam::cluster, kAllCommands);
}

TEST_CASE("leases in blocks of the cluster, killed at any system call", "[kill][cluster][blocks]") {
    for (const std::string& kind : kinds_in_cluster()) kill_everywhere(kind, Ipam::blocks, kAllCommands);
}

} // namespace rdmanet::test
