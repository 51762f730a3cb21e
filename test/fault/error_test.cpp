// Whatever system call fails: ADD leaves all or nothing and says what is wrong, DEL removes all or says what it could
// not, and the next DEL does.
#include "faults.hpp"
#include "sampling.hpp"
#include "stage.hpp"
#include "traced_run.hpp"

#include "support/reporter.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>

#include <catch2/catch.hpp>

#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

namespace rdmanet::test {
namespace {

using base::concat;

/// A call that reports an error and is not the one by which the plugin answers must end in a document.
std::string document_complaint(const TracedResult& result) {
    const bool was_the_answer = name_of(result.at.number) == "write" && result.at.arguments[0] == STDOUT_FILENO;
    if (result.process.exit_status != 1) return complaint("wanted exit status 1", result.process);
    if (was_the_answer) return {};
    try {
        (void)error_of(result.process);
        return {};
    } catch (const base::Error& error) {
        return concat(complaint("no proper error document", result.process), error.what(), '\n');
    }
}

/// A failed ADD has to leave nothing by itself: no DEL comes after it from every runtime.
std::string judge_add(const Stage& stage, const NodeState& before, const TracedResult& result) {
    if (result.process.exit_status == 0) {
        std::string wrong = stage.check(result.process.out);
        wrong += stage.run("DEL");
        return wrong + difference_from(before);
    }
    std::string wrong = document_complaint(result) + difference_from(before);
    if (!wrong.empty()) wrong += complaint("the ADD", result.process);
    return wrong + stage.run("DEL");
}

std::string judge_del(const Stage& stage, const NodeState& before, const TracedResult& result) {
    if (result.process.exit_status == 0) {
        std::string wrong = result.process.out.empty() ? "" : complaint("printed something", result.process);
        return wrong + difference_from(before);
    }
    std::string wrong = document_complaint(result);
    for (const char* word : {"not found", "no such file"}) // go-cni takes them for success
        if (result.process.out.find(word) != std::string::npos) wrong += complaint("says success", result.process);
    wrong += stage.run("DEL");
    return wrong + difference_from(before);
}

using Judge = std::string (*)(const Stage&, const NodeState&, const TracedResult&);

std::string prepare(Stage& stage, const std::string& command) {
    stage.forget_state();
    return command == "DEL" ? stage.run("ADD") : "";
}

void fail_everywhere(Stage& stage, const std::string& command, Judge judge) {
    NodeState before = stage.node();
    REQUIRE(prepare(stage, command) == "");
    const auto calls = run_traced(binary(), stage.call(command).options()).calls;
    REQUIRE(stage.run("DEL") == "");
    REQUIRE(difference_from(before) == ""); // otherwise no point says anything
    const auto all = errors_at(calls);
    const auto points = sample_of(all, is_same_call);
    unsigned missed = 0;
    unsigned coped = 0;
    for (const Fault& point : points) {
        std::string wrong = prepare(stage, command);
        const TracedResult result = run_traced(binary(), stage.call(command).options(), point);
        missed += result.reached ? 0 : 1;
        coped += result.process.exit_status == 0 ? 1 : 0;
        wrong += judge(stage, before, result);
        if (wrong.empty()) continue;
        FAIL_CHECK(concat(command, ": ", describe(point), ' ', result.at.text, " (call ", point.occurrence,
                          " of that name):\n", wrong));
        stage.reset();
        before = stage.node();
    }
    std::cout << "     " << command << " given " << points.size() - missed << " of " << all.size()
              << " errors by its system calls; succeeded in spite of " << coped << std::endl;
}

void fail_add_and_del(const std::string& kind, Ipam ipam) {
    const std::string missing = missing_for(kind, ipam);
    NEEDS(missing.empty(), missing);
    Stage stage(kind, ipam);
    if (is_wanted("ADD")) fail_everywhere(stage, "ADD", judge_add);
    if (is_wanted("DEL")) fail_everywhere(stage, "DEL", judge_del);
}

} // namespace

TEST_CASE("macvlan with the built-in allocator, any system call fails", "[error][macvlan]") {
    fail_add_and_del("macvlan", Ipam::built_in);
}

TEST_CASE("a macvlan in passthru mode, any system call fails", "[error][passthru]") {
    fail_add_and_del("passthru", Ipam::built_in);
}

TEST_CASE("ipvlan with the built-in allocator, any system call fails", "[error][ipvlan]") {
    fail_add_and_del("ipvlan", Ipam::built_in);
}

TEST_CASE("a VF with the built-in allocator, any system call fails", "[error][sriov]") {
    fail_add_and_del("sriov", Ipam::built_in);
}

TEST_CASE("a VF that is reset, any system call fails", "[error][reset]") {
    fail_add_and_del("reset", Ipam::built_in);
}

TEST_CASE("a VF with a representor, any system call fails", "[error][switchdev]") {
    fail_add_and_del("switchdev", Ipam::built_in);
}

TEST_CASE("an RDMA device behind another plugin's interface, any system call fails", "[error][rdma-only]") {
    fail_add_and_del("rdma", Ipam::built_in);
}

TEST_CASE("a whole function with the built-in allocator, any system call fails", "[error][host-device]") {
    fail_add_and_del("host-device", Ipam::built_in);
}

TEST_CASE("a virtual interface with the built-in allocator, any system call fails", "[error][virtual]") {
    fail_add_and_del("virtual", Ipam::built_in);
}

TEST_CASE("a sub-function with the built-in allocator, any system call fails", "[error][subfunction]") {
    fail_add_and_del("subfunction", Ipam::built_in);
}

TEST_CASE("a VF of vfio-pci with the built-in allocator, any system call fails", "[error][vfio]") {
    fail_add_and_del("vfio", Ipam::built_in);
}

TEST_CASE("an IPoIB child with the built-in allocator, any system call fails", "[error][ipoib]") {
    fail_add_and_del("ipoib", Ipam::built_in);
}

TEST_CASE("an InfiniBand VF with another GUID with the built-in allocator, any system call fails",
          "[error][infiniband]") {
    fail_add_and_del("infiniband", Ipam::built_in);
}

TEST_CASE("macvlan with host-local, any system call fails", "[error][macvlan][host-local]") {
    fail_add_and_del("macvlan", Ipam::host_local);
}

TEST_CASE("ipvlan with host-local, any system call fails", "[error][ipvlan][host-local]") {
    fail_add_and_del("ipvlan", Ipam::host_local);
}

} // namespace rdmanet::test
