// The plugin is killed before any system call of ADD, DEL, CHECK or GC. The next DEL or GC restores the node.
#include "faults.hpp"
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

/// Every kill with every recovery. A kill's recoveries are adjacent, so that a sample has all three of them.
std::vector<Point> points_of(const std::vector<SystemCall>& calls) {
    std::vector<Point> points;
    for (const Fault& fault : kills_at(calls))
        for (const Recovery recovery : kRecoveries) points.push_back({fault, recovery});
    return points;
}

class Killer {
public:
    Killer(Stage& stage, std::string command) : stage_(stage), command_(std::move(command)) { remember(); }

    void play() {
        REQUIRE(stage_.prepare_for(command_) == "");
        const auto calls = run_traced(binary(), stage_.prepared_call(command_).options()).calls;
        REQUIRE(recover(Recovery::del) == ""); // otherwise the points prove nothing
        const auto all = points_of(calls);
        const auto points =
            sample_of(all, [](const Point& one, const Point& other) { return is_same_call(one.fault, other.fault); });
        std::size_t missed = 0;
        for (const Point& point : points) missed += play_at(point) ? 0 : 1;
        std::cout << "     " << command_ << " killed at " << points.size() - missed << " of " << all.size()
                  << " points: " << calls.size() << " system calls, each with DEL, GC and rdmanet gc after it"
                  << std::endl;
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

void kill_everywhere(const std::string& kind, Ipam ipam, const Commands& commands = kAddAndDel) {
    const std::string missing = missing_for(kind, ipam);
    NEEDS(missing.empty(), missing);
    for (const std::string& command : commands) {
        if (!is_wanted(command)) continue;
        Stage stage(kind, ipam);
        Killer(stage, command).play();
    }
}

} // namespace

TEST_CASE("macvlan with the built-in allocator, killed at any system call", "[kill][macvlan]") {
    kill_everywhere("macvlan", Ipam::built_in, kAllCommands);
}

TEST_CASE("addresses for another plugin's interface, killed at any system call", "[kill][ipam-only]") {
    kill_everywhere("ipam-only", Ipam::built_in, kAllCommands);
}

TEST_CASE("leases in the cluster, killed at any system call", "[kill][cluster]") {
    for (const std::string& kind : kinds_in_cluster()) kill_everywhere(kind, Ipam::cluster, kAllCommands);
}

TEST_CASE("leases in blocks of the cluster, killed at any system call", "[kill][cluster][blocks]") {
    for (const std::string& kind : kinds_in_cluster()) kill_everywhere(kind, Ipam::blocks, kAllCommands);
}

TEST_CASE("a macvlan in passthru mode, killed at any system call", "[kill][passthru]") {
    kill_everywhere("passthru", Ipam::built_in);
}

TEST_CASE("ipvlan with the built-in allocator, killed at any system call", "[kill][ipvlan]") {
    kill_everywhere("ipvlan", Ipam::built_in);
}

TEST_CASE("a VF with the built-in allocator, killed at any system call", "[kill][sriov]") {
    kill_everywhere("sriov", Ipam::built_in);
}

TEST_CASE("a VF that is reset, killed at any system call", "[kill][reset]") {
    kill_everywhere("reset", Ipam::built_in);
}

TEST_CASE("a VF with a representor, killed at any system call", "[kill][switchdev]") {
    kill_everywhere("switchdev", Ipam::built_in);
}

TEST_CASE("an RDMA device behind another plugin's interface, killed at any system call", "[kill][rdma-only]") {
    kill_everywhere("rdma", Ipam::built_in);
}

TEST_CASE("a whole function with the built-in allocator, killed at any system call", "[kill][host-device]") {
    kill_everywhere("host-device", Ipam::built_in);
}

TEST_CASE("a sub-function with the built-in allocator, killed at any system call", "[kill][subfunction]") {
    kill_everywhere("subfunction", Ipam::built_in);
}

TEST_CASE("a VF of vfio-pci with the built-in allocator, killed at any system call", "[kill][vfio]") {
    kill_everywhere("vfio", Ipam::built_in);
}

TEST_CASE("an IPoIB child with the built-in allocator, killed at any system call", "[kill][ipoib]") {
    kill_everywhere("ipoib", Ipam::built_in);
}

TEST_CASE("an InfiniBand VF with another GUID with the built-in allocator, killed at any system call",
          "[kill][infiniband]") {
    kill_everywhere("infiniband", Ipam::built_in);
}

TEST_CASE("macvlan with addresses in etcd, killed at any system call", "[kill][etcd]") {
    kill_everywhere("macvlan", Ipam::etcd, kAllCommands);
}

TEST_CASE("addresses in etcd for another plugin's interface, killed at any system call", "[kill][etcd]") {
    kill_everywhere("ipam-only", Ipam::etcd, kAllCommands);
}

TEST_CASE("macvlan with host-local, killed at any system call", "[kill][macvlan][host-local]") {
    kill_everywhere("macvlan", Ipam::host_local);
}

TEST_CASE("ipvlan with host-local, killed at any system call", "[kill][ipvlan][host-local]") {
    kill_everywhere("ipvlan", Ipam::host_local);
}

} // namespace rdmanet::test
