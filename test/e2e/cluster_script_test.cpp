// The script that starts and stops the servers of other tests, and of people.
#include "markdown.hpp"

#include "support/concat.hpp"
#include "support/process.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

TEST_CASE("a cluster ends although its server is stopped, and a file that was left behind ends nobody", "[ipam]") {
    const std::string directory = shell("echo -n $(mktemp -d)");
    const auto run_in = [](const std::string& where, const std::string& pid_file) {
        return concat("cd ", where, " && { setsid sleep infinity >/dev/null 2>&1 & echo $! >", pid_file, "; }");
    };
    const auto is_alive = [&](const std::string& file) {
        return succeeds(concat("[ -e /proc/$(cat ", directory, '/', file, ")/cwd ]"));
    };
    shell(run_in(directory, "apiserver.pid") + " && cp apiserver.pid server && kill -STOP $(cat server)");
    shell(run_in("/", directory + "/etcd.pid"));
    shell(concat("cp ", directory, "/etcd.pid ", directory, "/somebody"));
    CHECK(succeeds(concat("timeout 60 ", source_path("test/cluster/cluster.sh"), " stop ", directory)));
    CHECK_FALSE(is_alive("server"));
    CHECK(is_alive("somebody"));
    CHECK(shell(concat("ls ", directory)) == "server\nsomebody\n");
    shell(concat("cd ", directory, "; kill -KILL $(cat server somebody) 2>/dev/null; rm -r ", directory));
}

TEST_CASE("where no API server can be built, a command runs without one, and the reason is said", "[ipam]") {
    const std::string directory = shell("echo -n $(mktemp -d)");
    const ProcessResult result =
        run_process({"env", "--unset=RDMANET_CLUSTER", concat("RDMANET_CLUSTER_CACHE=", directory), "GOPROXY=off",
                     concat("GOMODCACHE=", directory, "/modules"), concat("GOCACHE=", directory, "/built"),
                     source_path("test/cluster/cluster.sh"), "try", "sh", "-c", "echo \"server: [$RDMANET_CLUSTER]\""},
                    {});
    CHECK(result.exit_status == 0);
    CHECK(result.out == "server: []\n");
    CHECK_THAT(result.err, Catch::Contains("this machine has no Go") || Catch::Contains("It needs a Go module proxy"));
    shell(concat("chmod -R u+w ", directory, "; rm -r ", directory));
}

TEST_CASE("who needs an API server that another process builds waits for it, and takes its failure for the answer",
          "[ipam]") {
    const std::string directory = shell("echo -n $(mktemp -d)");
    // The other process ends without a server as soon as somebody waits for it.
    const ProcessResult result = run_process(
        {"bash", "-c",
         concat("cd ", directory,
                "; : >said; flock kube-apiserver.lock sh -c 'until [ -s said ]; do sleep 0.1; done' & ",
                "while flock --nonblock kube-apiserver.lock true; do sleep 0.1; done; unset RDMANET_CLUSTER; ",
                "RDMANET_CLUSTER_CACHE=$PWD GOPROXY=off ", source_path("test/cluster/cluster.sh"),
                " try echo without 2>said; cat said >&2")},
        {});
    CHECK(result.out == "without\n");
    CHECK_THAT(result.err, Catch::Contains("this machine has no Go") ||
                               (Catch::Contains("another process builds kube-apiserver") &&
                                Catch::Contains("another process could not build kube-apiserver")));
    shell(concat("rm -r ", directory));
}

} // namespace rdmanet::test
