// `rdmanet ipam migrate` is killed while leases of the node's own store go into a store of the cluster, and back. At
// any moment CHECK finds them, and DEL, GC or the same command go on.
#include "faults.hpp"
#include "sampling.hpp"
#include "traced_run.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/node.hpp"
#include "support/patience.hpp"
#include "support/plugin_call.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace rdmanet::test::moves {
namespace {

constexpr const char* kState = "/run/rdmanet-move";
constexpr const char* kNetwork = "/run/rdmanet-move-to-";
constexpr std::size_t kTurns = 24; // of the points, one run takes one in so many

std::string cluster() {
    const char* directory = std::getenv("RDMANET_CLUSTER");
    return directory == nullptr ? "" : directory;
}

std::string missing() {
    if (!kernel_has("macvlan")) return "macvlan";
    return cluster().empty() ? "a Kubernetes API server (test/cluster/cluster.sh run)" : "";
}

enum class Recovery : std::uint8_t { again, del, gc };

/// One attachment whose two leases move from one store to another.
class Move {
public:
    Move(std::string from, std::string to)
        : from_(std::move(from)), to_(std::move(to)), space_(concat("move-", ::getpid(), '-', to_)) {
        std::string boot = shell("cat /proc/sys/kernel/random/boot_id | tr -d '\n'");
        shell(concat(cluster(), R"(/apply '{"apiVersion":"v1","kind":"Node","metadata":{"name":")", space_,
                     R"("},"status":{"nodeInfo":{"bootID":")", boot, R"("}}}' /api/v1/nodes)"));
        command_ = command(to_);
        back_ = command(from_);
    }
    Move(const Move&) = delete;
    Move& operator=(const Move&) = delete;
    ~Move() { (void)succeeds(concat(cluster(), "/delete /api/v1/nodes/", space_, "; rm -rf ", kState, "*")); }

    /// The calls of the command that change something outside of its process.
    [[nodiscard]] std::vector<Fault> points() {
        prepare();
        REQUIRE(recover(Recovery::again) == ""); // the first time records the ranges
        prepare();
        std::vector<SystemCall> changing;
        for (const SystemCall& call : run_traced(command_, {}).calls)
            if (std::set<std::string>{"sendto", "rename", "unlink", "fdatasync", "fsync"}.contains(
                    name_of(call.number)))
                changing.push_back(call);
        REQUIRE(recover(Recovery::again) == "");
        return kills_at(changing);
    }

    /// What is wrong after a kill and `recovery`.
    [[nodiscard]] std::string play(const Fault& fault, Recovery recovery, bool& reached) {
        prepare();
        const TracedResult killed = run_traced(command_, {}, fault);
        reached = killed.reached;
        std::string wrong = check();
        wrong += recover(recovery);
        if (wrong.empty()) return {};
        return concat("killed before ", killed.at.text, " (call ", fault.occurrence, " of that name):\n", wrong);
    }

private:
    [[nodiscard]] std::vector<std::string> command(const std::string& to) const {
        const std::string network = concat(kNetwork, to);
        std::ofstream(network) << config(to);
        return {binary(),
                "ipam",
                "migrate",
                "--to",
                to,
                "--network",
                network,
                "--pause",
                "0",
                "--kubeconfig",
                cluster() + "/admin.kubeconfig",
                "--state-dir",
                kState};
    }
    [[nodiscard]] std::string config(const std::string& store) const {
        // A network that knows the cluster would not give from the node's own store what that has recorded.
        const std::string server =
            store == "node" ? "" : concat(R"("kubernetes":{"kubeconfig":")", cluster(), R"(/rdmanet.kubeconfig"},)");
        return concat(R"({"cniVersion":"1.1.0","name":"move","type":"rdmanet","attach":"macvlan","master":"par0",)",
                      R"("ipam":{"type":"rdmanet","store":")", store, R"(","network_name":")", space_,
                      R"(","nodeName":")", space_, R"(",)", server, R"("cooldown":0,"range":"10.95.0.0/24",)",
                      R"("ipRanges":[{"range":"fd95::/120"}]}})");
    }
    [[nodiscard]] PluginCall call(const std::string& command, const std::string& store) const {
        PluginCall call;
        call.command = command;
        call.netns = pod_ ? pod_->path() : "";
        call.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till;K8S_POD_UID=uid-1";
        call.config = config(store);
        if (!result_.empty() && command != "ADD")
            call.config = concat(call.config.substr(0, call.config.size() - 1), R"(,"prevResult":)", result_, '}');
        call.more_environment.push_back(concat("RDMANET_STATE_DIR=", kState));
        return call;
    }

    void prepare() {
        if (to_ == "node") { // the cluster has recorded it
            const ProcessResult back = run_process(back_);
            INFO(back.out << back.err);
            REQUIRE(back.exit_status == 0);
        }
        shell(concat("rm -f ", kState, "/moved-ranges.json"));
        pod_ = std::make_unique<Pod>("moving");
        result_.clear();
        const ProcessResult added = call("ADD", from_).run();
        INFO(added.out << added.err);
        REQUIRE(added.exit_status == 0);
        result_ = added.out;
    }

    [[nodiscard]] std::string check() const {
        const ProcessResult checked = call("CHECK", to_).run();
        return checked.exit_status == 0 ? "" : concat("CHECK: ", checked.out, '\n');
    }

    [[nodiscard]] std::string recover(Recovery recovery) {
        std::string wrong;
        if (recovery == Recovery::again) {
            const ProcessResult again = run_process(command_);
            if (again.exit_status != 0) wrong += concat("again: ", again.out, again.err);
            wrong += check();
            if (const std::string left = leases(); left != "0 2") wrong += concat("after it, leases: ", left, '\n');
        }
        if (recovery != Recovery::gc) {
            const ProcessResult deleted = call("DEL", to_).run();
            if (deleted.exit_status != 0) wrong += concat("DEL: ", deleted.out, '\n');
        }
        pod_.reset();
        let_a_minute_pass();
        if (const std::string left = leases(); left != "0 0") wrong += concat("at the end, leases: ", left, '\n');
        return wrong + shell(concat("find ", kState, "/attachments -name '*.json' 2>/dev/null || true"));
    }

    static void let_a_minute_pass() {
        shell(concat("grep -lr '\"leaseStore\"' ", kState,
                     "/attachments 2>/dev/null | while read -r record; do sed -i -E "
                     "'s/(\"unsettledUntil\": ?)[0-9]+/\\11/' \"$record\"; done; ",
                     "[ ! -e ", kState, "/blocks.sqlite ] || sqlite3 ", kState,
                     "/blocks.sqlite 'UPDATE blocks SET since = since - 60 WHERE state = 0'; ", binary(),
                     " gc --state-dir ", kState, " >/dev/null 2>&1 || true"));
    }

    /// In the store from which they go, and in the other one.
    [[nodiscard]] std::string leases() const { return concat(leases_in(from_), ' ', leases_in(to_)); }
    [[nodiscard]] std::string leases_in(const std::string& store) const {
        if (store == "whereabouts")
            return shell(concat("for pool in 10.95.0.0-24 fd95---120; do ", cluster(), "/get ippools/", space_,
                                "-$pool | jq '.spec.allocations // {} | length'; done | awk '{ n += $1 } END { printf "
                                "\"%d\", n }'"));
        return shell(concat("[ ! -e ", kState, '/', store == "node" ? "leases" : "blocks", ".sqlite ] && printf 0 || ",
                            "sqlite3 ", kState, '/', store == "node" ? "leases" : "blocks",
                            ".sqlite 'SELECT count(*) FROM leases' | tr -d '\\n'"));
    }

    std::string from_;
    std::string to_;
    std::string space_;
    std::vector<std::string> command_;
    std::vector<std::string> back_;
    VethParent parent_{"par0"};
    std::unique_ptr<Pod> pod_;
    std::string result_;
};

void kill_moves(const std::string& from, const std::string& to) {
    NEEDS(missing().empty(), missing());
    Move move(from, to);
    const std::vector<Fault> all = move.points();
    REQUIRE(all.size() > 10);
    std::size_t played = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!is_turn(i % kTurns, kTurns)) continue;
        bool reached = false;
        const auto recovery = static_cast<Recovery>(i / kTurns % 3);
        if (const std::string wrong = move.play(all[i], recovery, reached); !wrong.empty()) FAIL_CHECK(wrong);
        played += reached ? 1 : 0;
    }
    CHECK(played != 0);
    std::cout << "     from " << from << " to " << to << ": killed at " << played << " of " << all.size() << " points"
              << std::endl;
}

} // namespace

TEST_CASE("leases that go into blocks, killed at any change", "[kill][cluster][moves]") {
    kill_moves("node", "blocks");
}

TEST_CASE("leases that go into pools, killed at any change", "[kill][cluster][moves]") {
    kill_moves("node", "whereabouts");
}

// Every run has this one.
TEST_CASE("leases that come back from blocks, killed at any change", "[kill][cluster]") {
    kill_moves("blocks", "node");
}

TEST_CASE("leases that come back from pools, killed at any change", "[kill][cluster][moves]") {
    kill_moves("whereabouts", "node");
}

} // namespace rdmanet::test::moves
