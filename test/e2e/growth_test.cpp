// How many system calls each command makes when the node has many attachments. The number does not depend on the
// machine's speed or load.
#include "containers.hpp"

#include "support/concat.hpp"

#include <catch2/catch.hpp>

#include <deque>
#include <map>

namespace rdmanet::test {
namespace {

constexpr int kFew = 3;
constexpr int kMany = 23;

/// Runs the binary and counts its system calls. Calls for memory and directories are left out, because their number
/// depends on sizes.
class CountedBinary : public Wrapper {
public:
    CountedBinary()
        : Wrapper("counted", concat("strace -f -c -e 'trace=!brk,mmap,munmap,mremap,getdents64' -o ", kCalls, " --")) {}

    [[nodiscard]] static int calls() {
        return std::stoi(shell(concat("awk '$NF == \"total\" {print $4}' ", kCalls, "; rm ", kCalls)));
    }

private:
    static constexpr const char* kCalls = "/tmp/rdmanet-calls";
};

/// Number of calls, by command.
using Calls = std::map<std::string, int>;

PluginCall call_in(const Pod& pod, int number) {
    return of(call_for(pod, concat("'master':'par0',", ipam("10.61.0.0/24"))), concat('c', number));
}

/// Counts the calls for one attachment while the node has that many others.
Calls calls_with(int attachments) {
    const CountedBinary counted;
    const VethParent parent("par0");
    const Pod extra("extra");
    const UnchangedNode node;
    Calls calls;
    const auto count = [&](const std::string& what, const std::string& arguments) {
        (void)shell(concat(counted.path(), ' ', arguments));
        calls[what] = CountedBinary::calls();
    };
    {
        std::deque<Pod> pods;
        for (int number = 0; number < attachments; ++number)
            (void)add(call_in(pods.emplace_back(concat('p', number)), number));
        PluginCall call = call_in(extra, attachments);
        call.program = counted.path();
        const std::string result = add(call);
        calls["ADD"] = CountedBinary::calls();
        CHECK(check(call, result) == "");
        calls["CHECK"] = CountedBinary::calls();
        CHECK(outcome(call, "STATUS") == "");
        calls["STATUS"] = CountedBinary::calls();
        CHECK(del(call) == "");
        calls["DEL"] = CountedBinary::calls();
        count("state", "state");
        count("state --json", "state --json");
        count("gc", "gc");
        count("check", "check");
    }
    count("state, dead pods", "state");
    count("gc --dry-run, dead pods", "gc --dry-run");
    count("gc, dead pods", "gc");
    CHECK(node.difference() == "");
    return calls;
}

} // namespace

TEST_CASE("each command makes few system calls for each attachment of the node", "[growth][static]") {
    const Calls few = calls_with(kFew);
    const Calls many = calls_with(kMany);
    const auto for_each = [&](const std::string& what) {
        return (many.at(what) - few.at(what)) / static_cast<double>(kMany - kFew);
    };
    constexpr double kRecord = 3; // open, read and close a file
    constexpr double kPod = 14;   // open a network namespace by its path, read its cookie inside
    constexpr double kNoPod = 1;  // the path does not exist
    for (const char* what : {"ADD", "CHECK", "STATUS", "DEL"}) {
        CAPTURE(what);
        CHECK(for_each(what) < 0.2);
    }
    for (const char* what : {"state", "state --json", "gc"}) {
        CAPTURE(what);
        CHECK(for_each(what) <= kRecord + kPod);
    }
    for (const char* what : {"state, dead pods", "gc --dry-run, dead pods"}) {
        CAPTURE(what);
        CHECK(for_each(what) <= kRecord + kNoPod);
    }
    CHECK(for_each("check") <= 68);
    CHECK(for_each("gc, dead pods") <= 110); // about 75 as a rule; 99 was seen once
}

} // namespace rdmanet::test
