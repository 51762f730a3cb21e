// whereabouts 0.9.4 itself and rdmanet on one pool, at the same moment.
#include "attachment_stage.hpp"
#include "cluster_stage.hpp"

#include "support/concat.hpp"
#include "support/plugin_call.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>

namespace rdmanet::test {
namespace {

constexpr const char* kPool = "10.31.90.0-28"; // 14 addresses for 10 pods, so that they are given again
constexpr const char* kDirectory = "/run/beside";

// add NAME, del NAME: of pods that are called w1 to w5, by whereabouts, and r1 to r5, by rdmanet. A call that is
// refused because others were faster is repeated, an ADD after its DEL. On a busy machine whereabouts is refused often.
constexpr const char* kCalls = R"sh(
call() { # VERB NAME
    case $2 in w*) program=$whereabouts config=whereabouts ;; *) program=$rdmanet config=rdmanet ;; esac
    CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=$netns CNI_IFNAME=net1 CNI_PATH=/nowhere \
        CNI_ARGS="IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=$2" \
        $program <$directory/$config 2>>$directory/$2.log
}
add() {
    for attempt in $(seq 100); do
        if call ADD $1 >$directory/$1.result; then return; fi
        call DEL $1
    done
    echo "ADD of $1 failed: $(cat $directory/$1.result)"
}
del() {
    for attempt in $(seq 100); do
        if call DEL $1; then return; fi
    done
    echo "DEL of $1 failed"
}
all() { # FUNCTION
    for name in w1 w2 w3 w4 w5 r1 r2 r3 r4 r5; do $1 $name & done
    wait
}
come_again() { add $1; del $1; add $1; }
results() { # NAME...: address and pod, one a line
    for name; do echo "$(jq --raw-output '.ips[0].address' $directory/$name.result) $name"; done | sort
}
)sh";

class Both {
public:
    explicit Both(const Pod& pod) {
        std::filesystem::create_directories(kDirectory);
        const std::string kubeconfig = concat("'kubernetes':{'kubeconfig':'", kKubeconfig, "',", kLongLimits, "}");
        write("flat", concat("{", kubeconfig, "}"));
        for (const char* type : {"whereabouts", "rdmanet"})
            write(type, concat("{'cniVersion':'1.0.0','name':'net','type':'macvlan','ipam':{'type':'", type,
                               "','range':'10.31.90.0/28',",
                               type[0] == 'w' ? concat("'configuration_path':'", kDirectory, "/flat',") : "",
                               kubeconfig, "}}"));
        prefix_ = concat("whereabouts=", cluster(), "/whereabouts rdmanet=", binary(), " netns=", pod.path(),
                         " directory=", kDirectory, '\n', kCalls);
    }
    Both(const Both&) = delete;
    Both& operator=(const Both&) = delete;
    ~Both() { std::filesystem::remove_all(kDirectory); }

    /// What the script prints.
    [[nodiscard]] std::string run(const std::string& script) const { return shell(concat(prefix_, script)); }

private:
    static void write(const std::string& name, const std::string& content) {
        std::ofstream(concat(kDirectory, '/', name)) << json_text(content);
    }
    std::string prefix_;
};

/// "ADDRESS POD", one a line.
std::string records() {
    return shell(concat(cluster(), "/get ippools/", kPool,
                        " | jq --raw-output '.spec.allocations | to_entries[] | \"10.31.90.\\(.key)/28 "
                        "\\(.value.podref | ltrimstr(\"shop/\"))\"' | sort"));
}
std::string reservations() {
    return shell(concat(cluster(), "/get overlappingrangeipreservations | jq --raw-output '.items[] | "
                                   "select(.metadata.name | startswith(\"10.31.90.\")) | \"\\(.metadata.name)/28 "
                                   "\\(.spec.podref | ltrimstr(\"shop/\"))\"' | sort"));
}

} // namespace

TEST_CASE("whereabouts and rdmanet give addresses of one pool at once, and each keeps the other's records",
          "[cluster]") {
    NEEDS(!cluster().empty(), kNeedsCluster);
    NEEDS(std::filesystem::exists(cluster() + "/whereabouts"), "whereabouts itself (test/cluster/cluster.sh build)");
    use_cluster_as("admin"); // with whereabouts' rights, too
    const Pod pod("pod");
    const Both both(pod);
    CHECK(both.run("all come_again") == "");
    const std::string given = both.run("results w1 w2 w3 w4 w5 r1 r2 r3 r4 r5");
    CHECK(shell(concat("printf '", given, "' | cut -d' ' -f1 | sort -u | wc -l")) == shell("echo 10"));
    CHECK(records() == given);
    CHECK(reservations() == given);
    // The pods of one go while the other's stay.
    CHECK(both.run("for name in w1 w2 w3 w4 w5; do del $name; done; for name in r1 r2; do add $name.new; done") == "");
    CHECK(records() == both.run("results r1 r2 r3 r4 r5 r1.new r2.new"));
    CHECK(both.run("all del; del r1.new; del r2.new") == "");
    CHECK(records() == "");
    CHECK(reservations() == "");
}

} // namespace rdmanet::test
