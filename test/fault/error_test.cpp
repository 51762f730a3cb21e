// Any system call fails. ADD still leaves all or nothing and reports the error. DEL and GC remove everything or
// report what is left, and the next one removes it. CHECK changes nothing.
#include "faults.hpp"
#include "kinds.hpp"
#include "sampling.hpp"
#include "stage.hpp"
#include "traced_run.hpp"

#include "support/concat.hpp"
#include "support/reporter.hpp"

#include <rdmanet/base/error.hpp>

#include <catch2/catch.hpp>

#include <unistd.h>

#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace rdmanet::test {
namespace {

/// An error must end in a document, unless the failed call was the one that writes the document.
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

/// A failed ADD must undo everything itself, because not every runtime sends DEL after it.
std::string judge_add(const Stage& stage, const NodeState& before, const TracedResult& result) {
    if (result.process.exit_status == 0) {
        std::string wrong = stage.check(result.process.out);
        wrong += stage.run("DEL");
        return wrong + difference_from(before);
    }
    std::string wrong = document_complaint(result);
    wrong += stage.pay_debts(result.process);
    wrong += difference_from(before);
    if (!wrong.empty()) wrong += complaint("the ADD", result.process);
    return wrong + stage.run("DEL");
}

std::string judge_del(const Stage& stage, const NodeState& before, const TracedResult& result) {
    if (result.process.exit_status == 0) {
        std::string wrong = result.process.out.empty() ? "" : complaint("printed something", result.process);
        wrong += stage.pay_debts(result.process);
        return wrong + difference_from(before);
    }
    std::string wrong = document_complaint(result);
    for (const char* word : {"not found", "no such file"}) // go-cni takes these words for success
        if (result.process.out.find(word) != std::string::npos) wrong += complaint("says success", result.process);
    wrong += stage.run("DEL");
    return wrong + difference_from(before);
}

std::string judge_check(const Stage& stage, const NodeState& before, const TracedResult& result) {
    std::string wrong;
    if (result.process.exit_status != 0)
        wrong = document_complaint(result);
    else if (!result.process.out.empty())
        wrong = complaint("printed something", result.process);
    const ProcessResult again = stage.prepared_call("CHECK").run();
    if (again.exit_status != 0) wrong += complaint("CHECK after it", again);
    wrong += stage.run("DEL");
    return wrong + difference_from(before);
}

/// If GC cannot see whether the pod lives, it keeps the attachment and reports that.
std::string judge_gc(const Stage& stage, const NodeState& before, const TracedResult& result) {
    std::string wrong;
    if (result.process.exit_status != 0)
        wrong = document_complaint(result);
    else if (!result.process.out.empty())
        wrong = complaint("printed something", result.process);
    const bool keeps = result.process.err.find("GC kept ") != std::string::npos;
    wrong += result.process.exit_status != 0 || keeps ? stage.collect_as_runtime() : stage.pay_debts(result.process);
    return wrong + difference_from(before);
}

using Judge = std::string (*)(const Stage&, const NodeState&, const TracedResult&);

/// The node as it must be after the command. GC comes when the pod is gone.
NodeState look_at(Stage& stage, const std::string& command) {
    if (!stage.has_pod()) stage.create_pod();
    if (command == "GC") stage.destroy_pod();
    return stage.node();
}

void fail_everywhere(Stage& stage, const std::string& command, Judge judge) {
    NodeState before = look_at(stage, command);
    REQUIRE(stage.prepare_for(command) == "");
    const auto calls = run_traced(binary(), stage.prepared_call(command).options()).calls;
    REQUIRE(stage.run("DEL") == "");
    REQUIRE(difference_from(before) == ""); // otherwise the points prove nothing
    const auto all = errors_at(calls);
    const auto points = sample_of(all, is_same_call);
    unsigned missed = 0;
    unsigned coped = 0;
    for (const Fault& point : points) {
        std::string wrong = stage.prepare_for(command);
        const TracedResult result = run_traced(binary(), stage.prepared_call(command).options(), point);
        missed += result.reached ? 0 : 1;
        coped += result.process.exit_status == 0 ? 1 : 0;
        wrong += judge(stage, before, result);
        if (wrong.empty()) continue;
        FAIL_CHECK(concat(command, ": ", describe(point), ' ', result.at.text, " (call ", point.occurrence,
                          " of that name):\n", wrong));
        stage.reset();
        before = look_at(stage, command);
    }
    std::cout << "     " << command << " given " << points.size() - missed << " of " << all.size()
              << " errors by its system calls; succeeded in spite of " << coped << std::endl;
}

void fail_calls(const std::string& kind, Ipam ipam, const Commands& commands) {
    static const std::map<std::string, Judge> kJudges = {
        {"ADD", judge_add}, {"DEL", judge_del}, {"CHECK", judge_check}, {"GC", judge_gc}};
    const std::string missing = missing_for(kind, ipam);
    NEEDS(missing.empty(), missing);
    Stage stage(kind, ipam);
    for (const std::string& command : commands)
        if (is_wanted(command)) fail_everywhere(stage, command, kJudges.at(command));
}

} // namespace

#define FAIL_CALLS(name, tags, kind, ipam, commands)                                                                   \
    TEST_CASE(name ", any system call fails", "[error]" tags) {                                                        \
        fail_calls(kind, Ipam::ipam, commands);                                                                        \
    }
RDMANET_FAULT_KINDS(FAIL_CALLS)

TEST_CASE("leases in the cluster, any system call fails", "[error][cluster]") {
    for (const std::string& kind : kinds_in_cluster()) fail_calls(kind, Ipam::cluster, kAllCommands);
}

TEST_CASE("leases in blocks of the cluster, any system call fails", "[error][cluster][blocks]") {
    for (const std::string& kind : kinds_in_cluster()) fail_calls(kind, Ipam::blocks, kAllCommands);
}

} // namespace rdmanet::test
