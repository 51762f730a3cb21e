// Killed before any system call of ADD or DEL, the next DEL or GC leaves the node as it was found.
#include "faults.hpp"
#include "sampling.hpp"
#include "stage.hpp"
#include "traced_run.hpp"

#include "support/reporter.hpp"

#include <rdmanet/base/text.hpp>

#include <catch2/catch.hpp>

#include <functional>
#include <iostream>
#include <string>

namespace rdmanet::test {
namespace {

using base::concat;

enum class Recovery : std::uint8_t { del, runtime_gc, person_gc };

/// One scenario: a command is killed, and what comes after it.
class KillScenario {
public:
    KillScenario(Stage& stage, std::string command, Recovery recovery)
        : stage_(stage), command_(std::move(command)), recovery_(recovery) {
        if (recovery_ != Recovery::del) stage_.destroy_pod();
        expected_ = NodeState::take();
        if (recovery_ != Recovery::del) stage_.create_pod();
    }

    void play() {
        REQUIRE(prepare() == "");
        const auto calls = run_traced(binary(), stage_.call(command_).options()).calls;
        REQUIRE(recover() == "");
        REQUIRE(difference_from(expected_) == ""); // otherwise no point says anything
        const auto points = sample_of(kills_at(calls));
        unsigned missed = 0;
        for (const Fault& point : points) missed += play_at(point) ? 0 : 1;
        std::cout << "     " << command_ << " killed at " << points.size() - missed << " of " << calls.size()
                  << " system calls, then " << name_of_recovery() << std::endl;
    }

private:
    std::string prepare() {
        if (!stage_has_pod_) stage_.create_pod();
        stage_has_pod_ = true;
        stage_.forget_state();
        return command_ == "DEL" ? stage_.run("ADD") : "";
    }

    std::string recover() {
        if (recovery_ == Recovery::del) return stage_.run("DEL");
        stage_.destroy_pod();
        stage_has_pod_ = false;
        return recovery_ == Recovery::runtime_gc ? stage_.collect_as_runtime() : stage_.collect_as_person();
    }

    const char* name_of_recovery() const {
        return recovery_ == Recovery::del ? "DEL" : recovery_ == Recovery::runtime_gc ? "GC" : "rdmanet gc";
    }

    /// False if this run didn't come to that call: waiting for the kernel takes more calls at times.
    bool play_at(const Fault& point) {
        std::string wrong = prepare();
        const TracedResult killed = run_traced(binary(), stage_.call(command_).options(), point);
        if (killed.left_children) wrong += "a delegate outlived the plugin\n";
        wrong += recover();
        wrong += difference_from(expected_);
        if (wrong.empty()) return killed.reached;
        FAIL_CHECK(concat(command_, " killed before ", killed.at.text, " (call ", point.occurrence, " of that name), then ",
                          name_of_recovery(), ":\n", wrong));
        stage_.reset();
        stage_has_pod_ = true;
        return killed.reached;
    }

    Stage& stage_;
    std::string command_;
    Recovery recovery_;
    NodeState expected_;
    bool stage_has_pod_ = true;
};

void kill_everywhere(const std::string& kind, Ipam ipam) {
    const std::string missing = missing_for(kind, ipam);
    NEEDS(missing.empty(), missing);
    for (const char* command : {"ADD", "DEL"})
        for (const Recovery recovery : {Recovery::del, Recovery::runtime_gc, Recovery::person_gc}) {
            Stage stage(kind, ipam);
            KillScenario(stage, command, recovery).play();
        }
}

} // namespace

TEST_CASE("macvlan with the built-in allocator, killed at any system call", "[fault]") {
    kill_everywhere("macvlan", Ipam::built_in);
}

TEST_CASE("ipvlan with the built-in allocator, killed at any system call", "[fault]") {
    kill_everywhere("ipvlan", Ipam::built_in);
}

TEST_CASE("macvlan with host-local, killed at any system call", "[fault]") {
    kill_everywhere("macvlan", Ipam::host_local);
}

TEST_CASE("ipvlan with host-local, killed at any system call", "[fault]") {
    kill_everywhere("ipvlan", Ipam::host_local);
}

} // namespace rdmanet::test
