// A sample rarely reaches these places, so every run aims at each of them: the index of the records, the replacement
// of a small stack, waiting RDMA names, and a device that DEL cannot return.
#include "faults.hpp"
#include "sampling.hpp"
#include "stage.hpp"
#include "traced_run.hpp"

#include "support/concat.hpp"
#include "support/nested_netns.hpp"
#include "support/reporter.hpp"

#include <rdmanet/base/error.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;

/// One call of the plugin, and the system calls in it that are killed or failed.
struct Target {
    std::function<std::string()> prepare; // returns what is wrong, as judge does
    std::function<PluginCall()> call;
    std::function<std::vector<Fault>(const std::vector<SystemCall>&)> aim;
    std::function<std::string(const TracedResult&)> judge; // restores the node, or says how it differs
};

/// Every fault must be reached. Otherwise the plugin no longer makes that call, and the test proves nothing.
void hit(const char* what, const Target& target) {
    REQUIRE(target.prepare() == "");
    const TracedResult whole = run_traced(binary(), target.call().options());
    INFO(whole.process.out << whole.process.err);
    REQUIRE(target.judge(whole) == "");
    const std::vector<Fault> faults = target.aim(whole.calls);
    REQUIRE_FALSE(faults.empty());
    for (const Fault& fault : faults) {
        std::string wrong = target.prepare();
        const TracedResult result = run_traced(binary(), target.call().options(), fault);
        if (!result.reached) wrong += "the call was not made this time\n";
        wrong += target.judge(result);
        if (!wrong.empty())
            FAIL_CHECK(concat(what, ": ", describe(fault), ' ', result.at.text, " (call ", fault.occurrence,
                              " of that name):\n", wrong));
    }
    std::cout << "     " << what << ": " << faults.size() << " points" << std::endl;
}

std::vector<SystemCall> calls_about(const std::vector<SystemCall>& calls, std::string_view text) {
    std::vector<SystemCall> found;
    for (const SystemCall& call : calls)
        if (call.text.find(text) != std::string::npos) found.push_back(call);
    return found;
}

/// Kills before and after every call about `text` that changes a file.
auto changes_about(std::string text) {
    return [text = std::move(text)](const std::vector<SystemCall>& calls) {
        std::vector<SystemCall> around;
        for (std::size_t i = 0; i + 1 < calls.size(); ++i) {
            const std::string name = name_of(calls[i].number);
            const bool changes = name == "write" || name == "rename" || name == "unlink";
            if (changes && calls[i].text.find(text) != std::string::npos)
                around.insert(around.end(), {calls[i], calls[i + 1]});
        }
        return kills_at(around);
    };
}

/// Kills before every call about `text`.
auto kills_about(std::string text) {
    return
        [text = std::move(text)](const std::vector<SystemCall>& calls) { return kills_at(calls_about(calls, text)); };
}

/// Every plausible error of the calls about `text`.
auto errors_about(std::string text) {
    return [text = std::move(text)](const std::vector<SystemCall>& calls) {
        std::vector<Fault> faults;
        const std::vector<SystemCall> meant = calls_about(calls, text);
        for (const Fault& fault : errors_at(calls))
            if (std::any_of(meant.begin(), meant.end(), [&](const SystemCall& call) {
                    return call.number == fault.number && call.occurrence == fault.occurrence;
                }))
                faults.push_back(fault);
        return faults;
    };
}

std::string must_succeed(const TracedResult& result) {
    return result.process.exit_status == 0 ? "" : complaint("expected success", result.process);
}

/// Moves the stage's state directory into memory, where records have an index. Adds records of other pods, because
/// the index is only written for many records.
class Neighbours {
public:
    explicit Neighbours(const Stage& stage) : state_(stage.state_directory()) {
        mounted_ = fs::path(state_).parent_path();
        shell(concat("mount -t tmpfs fault ", mounted_, " && mkdir ", state_));
        PluginCall call = stage.call("ADD");
        call.netns = pod_.path();
        call.config = R"({"cniVersion":"1.0.0","name":"near","type":"macvlan",)"
                      R"("ipam":{"type":"rdmanet","range":"10.96.0.0/24"}})";
        for (unsigned i = 0; i < 20; ++i) {
            call.container = concat("near-", i);
            if (const ProcessResult added = call.run(); added.exit_status != 0)
                throw base::Error(complaint("ADD of a neighbour", added));
        }
        shell(concat("cp -a ", state_, ' ', saved()));
    }
    Neighbours(const Neighbours&) = delete;
    Neighbours& operator=(const Neighbours&) = delete;
    ~Neighbours() { (void)succeeds(concat("umount ", mounted_)); }

    [[nodiscard]] std::string index() const { return concat(state_, "/records.index"); }
    /// Replaces all records by copies with other inodes, so that no index has them.
    void restore() const { shell(concat("rm -rf ", state_, " && cp -a ", saved(), ' ', state_)); }

private:
    [[nodiscard]] std::string saved() const { return concat(mounted_, "/saved"); }

    std::string state_;
    std::string mounted_;
    Pod pod_{"fault-near"};
};

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

void write_text(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::trunc) << text;
}

/// Damaged copies of an index: empty, truncated, of another version, without one of its lines, and with a changed
/// last character of each word (inode numbers, names and topics).
std::vector<std::string> damaged(const std::string& index) {
    std::vector<std::string> variants = {"", index.substr(0, index.size() / 2)};
    variants.push_back(index);
    variants.back().insert(index.find(' ') + 1, "9"); // the number of the version comes first
    for (std::size_t line = 0; line < index.size(); line = index.find('\n', line) + 1) {
        std::string cut = index;
        variants.push_back(cut.erase(line, index.find('\n', line) + 1 - line));
    }
    for (std::size_t end = index.find_first_of(" \n"); end != std::string::npos;
         end = index.find_first_of(" \n", end + 1)) {
        variants.push_back(index);
        char& last = variants.back()[end - 1];
        last = last == '1' ? '2' : '1';
    }
    return variants;
}

} // namespace

TEST_CASE("the plugin is killed or failed at the index of the records", "[aimed]") {
    NEEDS(missing_for("virtual", Ipam::built_in).empty(), missing_for("virtual", Ipam::built_in));
    const Stage stage("virtual", Ipam::built_in);
    const Neighbours neighbours(stage);
    const NodeState before = stage.node();
    const auto restore = [&] {
        neighbours.restore();
        return std::string();
    };
    const auto del = [&](const TracedResult&) {
        const std::string wrong = stage.run("DEL");
        return wrong + difference_from(before);
    };
    const auto succeed_and_del = [&](const TracedResult& result) { return must_succeed(result) + del(result); };
    const auto call = [&] { return stage.call("ADD"); };
    hit("records.index, killed", {restore, call, kills_about("/records.index"), del});
    hit("records.index, failed", {restore, call, errors_about("/records.index"), succeed_and_del});
}

TEST_CASE("a device's owner does not depend on the index of the records", "[aimed]") {
    NEEDS(missing_for("virtual", Ipam::built_in).empty(), missing_for("virtual", Ipam::built_in));
    const Stage stage("virtual", Ipam::built_in);
    const Neighbours neighbours(stage);
    const NodeState before = stage.node();
    REQUIRE(stage.run("ADD") == "");
    // The device must be on the host. For a missing device the plugin reads all records, not the index.
    shell("ip -netns fault-pod link set net1 down && ip -netns fault-pod link set net1 name faultveth netns 1");
    PluginCall second = stage.call("ADD");
    second.container = "fault-second";
    second.ifname = "net2";
    const auto refusal = [&] { return error_of(second.run()); };
    fs::remove(neighbours.index());         // it is older than this record
    const std::string expected = refusal(); // writes the index again
    CHECK_THAT(expected, Catch::Contains("fault-container"));
    CHECK(refusal() == expected);
    const std::string index = text_of(neighbours.index());
    REQUIRE(std::count(index.begin(), index.end(), '\n') > 20);
    const auto variants = damaged(index);
    for (const std::string& variant : variants) {
        write_text(neighbours.index(), variant);
        CHECK(refusal() == expected);
    }
    fs::remove(neighbours.index());
    CHECK(refusal() == expected);
    std::cout << "     records.index: " << variants.size() + 1 << " ways to be damaged" << std::endl;
    CHECK(stage.run("DEL") == "");
    CHECK(difference_from(before) == "");
}

TEST_CASE("the plugin is killed or failed where it replaces a small stack", "[aimed][ipam-only]") {
    NEEDS(missing_for("ipam-only", Ipam::built_in).empty(), missing_for("ipam-only", Ipam::built_in));
    Stage stage("ipam-only", Ipam::built_in);
    const NodeState before = stage.node();
    // The calls from the question after the limit to the first call on the other stack.
    const auto replacing = [](const std::vector<SystemCall>& calls) {
        const auto asks = [](const SystemCall& call) {
            return name_of(call.number) == "prlimit64" || name_of(call.number) == "getrlimit";
        };
        auto first = calls.end();
        for (auto call = calls.begin(); call != calls.end(); ++call)
            if (asks(*call)) first = call; // the last one, because libc asks before main()
        const auto last = std::find_if(first, calls.end(), [](const SystemCall& call) {
            return name_of(call.number) == "poll"; // waits for standard input
        });
        return std::vector<SystemCall>(first, last);
    };
    for (const std::string command : {"ADD", "DEL"}) {
        const auto prepare = [&] { return stage.prepare_for(command); };
        const auto call = [&] {
            PluginCall small = stage.prepared_call(command);
            small.stack_limit = 16U << 10U;
            return small;
        };
        const auto judge = [&](const TracedResult& result) {
            const int status = result.process.exit_status;
            std::string wrong;
            if (status != 0 && status != 128 + SIGKILL &&
                result.process.out.find("\"code\":999,\"msg\":\"the caller's stack limit") == std::string::npos)
                wrong = complaint("expected what to do about the limit", result.process);
            wrong += stage.run("DEL");
            return wrong + difference_from(before);
        };
        const auto kills = [&](const auto& calls) { return kills_at(replacing(calls)); };
        const auto errors = [&](const auto& calls) {
            std::vector<SystemCall> begun = replacing(calls);
            const auto main = std::find_if(calls.begin(), calls.end(), [](const SystemCall& each) {
                return name_of(each.number) == "rt_sigaction";
            });
            REQUIRE(main != calls.end());
            begun.insert(begun.begin(), *main);
            return errors_at(begun);
        };
        hit(concat(command, " with a small stack, killed").c_str(), {prepare, call, kills, judge});
        hit(concat(command, " with a small stack, failed").c_str(), {prepare, call, errors, judge});
    }
}

namespace {

/// The RDMA device of the stage's VF has a configured name in the pod. Another VF's device has taken its name on the
/// host.
class TakenName {
public:
    explicit TakenName(const Stage& stage) : stage_(stage) {}

    [[nodiscard]] PluginCall call(const std::string& command) const {
        PluginCall call = stage_.call(command);
        const std::string wanted = R"("rdma":true)";
        call.config.replace(call.config.find(wanted), wanted.size(), R"("rdma":{"name":"rdma0"})");
        return call;
    }
    [[nodiscard]] std::string add_and_take() const {
        const ProcessResult added = call("ADD").run();
        if (added.exit_status != 0) return complaint("ADD", added);
        shell(concat("rdma dev set ", other_, " name ", own_));
        return {};
    }
    [[nodiscard]] std::string del() const {
        const ProcessResult gone = call("DEL").run();
        return gone.exit_status == 0 ? "" : complaint("DEL", gone);
    }
    void give_back() const { shell(concat("rdma dev set ", own_, " name ", other_)); }

private:
    const Stage& stage_;
    std::string own_ = concat(rdma_device_of(rdma_parent()), "v0");
    std::string other_ = concat(rdma_device_of(rdma_parent()), "v1");
};

} // namespace

TEST_CASE("the plugin is killed while it writes or restores waiting RDMA names", "[aimed][rdma-names]") {
    NEEDS(missing_for("sriov", Ipam::built_in).empty(), missing_for("sriov", Ipam::built_in));
    Stage stage("sriov", Ipam::built_in);
    const TakenName name(stage);
    const NodeState before = stage.node();
    const auto settle = [&](const TracedResult&) {
        const std::string wrong = name.del();
        return wrong + difference_from(before);
    };
    hit("rdma-names.json, being written",
        {[&] { return name.add_and_take(); }, [&] { return name.call("DEL"); }, changes_about("/rdma-names.json"),
         [&](const TracedResult& result) {
             name.give_back();
             return settle(result);
         }});
    const auto leave_waiting = [&] {
        std::string wrong = name.add_and_take();
        wrong += name.del();
        name.give_back();
        return wrong;
    };
    hit("rdma-names.json, names being restored",
        {leave_waiting, [&] { return name.call("DEL"); }, changes_about("/rdma-names.json"), settle});
}

/// DEL waits long for a device that does not return, so each run takes only one of the places.
TEST_CASE("the plugin is killed while it switches off a device that DEL cannot return", "[aimed][contain]") {
    NEEDS(missing_for("sriov", Ipam::built_in).empty(), missing_for("sriov", Ipam::built_in));
    constexpr struct {
        const char* call;
        const char* about;
        unsigned occurrence;
        BeforeFailing before = BeforeFailing::nothing;
    } kPlaces[] = {
        {"rename", ".json.tmp", 1},                         // the journal does not have the earlier link state
        {"rename", ".json.tmp", 1, BeforeFailing::execute}, // the journal has it, and the link is still on
        {"openat", ".json.tmp", 2},      // the link is off, and the journal still has the undone steps
        {"exit_group", "exit_group", 1}, // the journal has only what is left to undo
    };
    const Stage stage("sriov", Ipam::built_in);
    const NodeState before = stage.node();
    for (std::size_t i = 0; i < std::size(kPlaces); ++i) {
        if (!is_turn(i, std::size(kPlaces))) continue;
        PluginCall add = stage.call("ADD");
        const std::string known = R"("link_state":"enable",)"; // otherwise ADD would have recorded the link state
        add.config.erase(add.config.find(known), known.size());
        REQUIRE(add.run().exit_status == 0);
        const NestedNetns nested(stage.pod());
        nested.take(stage.pod(), add.ifname);
        const Fault fault{.number = number_of(kPlaces[i].call),
                          .occurrence = kPlaces[i].occurrence,
                          .before = kPlaces[i].before,
                          .about = kPlaces[i].about};
        const TracedResult killed = run_traced(binary(), stage.call("DEL").options(), fault);
        INFO(killed.process.out << killed.process.err);
        CHECK(killed.reached);
        std::cout << "     containment: " << describe(fault) << ' ' << killed.at.text << std::endl;
        nested.destroy();
        CHECK(stage.run("DEL") == "");
        CHECK(difference_from(before) == "");
    }
}

} // namespace rdmanet::test
