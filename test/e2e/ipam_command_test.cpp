// `rdmanet ipam`: what a person sees of the lease stores, and repairs.
#include "attachment_stage.hpp"
#include "cluster_stage.hpp"

#include "support/names.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {
namespace {

ProcessResult run_ipam(const std::string& arguments) {
    return run_process({"sh", "-c", "exec " + binary() + " ipam " + arguments});
}

std::string with_cluster(const std::string& arguments) {
    return arguments + " --kubeconfig " + cluster() + "/admin.kubeconfig";
}

/// Of the lines of a text, those that have a word.
std::string lines_with(const std::string& text, const std::string& word) {
    std::string found;
    std::size_t from = 0;
    for (std::size_t to = text.find('\n'); to != std::string::npos; from = to + 1, to = text.find('\n', from))
        if (const std::string line = text.substr(from, to - from); line.find(word) != std::string::npos)
            found += line + '\n';
    return found;
}

} // namespace

TEST_CASE("ipam show: leases of the node", "[ipam]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const AttachedStage attached("'master':'par0'," + ipam("10.71.0.0/24"));
    const ProcessResult shown = run_ipam("show");
    CHECK(shown.exit_status == 0);
    CHECK_THAT(lines_with(shown.out, "10.71.0.1"), Names("node", "net", "c1", "net1"));
    CHECK(value(run_ipam("show --json").out, "leases.0.address") == "10.71.0.1");
    CHECK(attached.end() == "");
    CHECK(run_ipam("show").out == "no leases\n");
    CHECK(run_ipam("sho").exit_status == 2);
    CHECK_THAT(run_ipam("").err, Names("subcommand", "`rdmanet help ipam`"));
    CHECK_THAT(run_ipam("show --kubeconfig /run/nothing").out, Names("/run/nothing"));
}

TEST_CASE("ipam show: pools of the cluster, also those that whereabouts wrote", "[cluster]") {
    NEEDS(!cluster().empty(), "a Kubernetes API server (test/cluster/cluster.sh run)");
    shell(cluster() + R"(/apply '{"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":)"
                      R"({"name":"show-10.71.1.0-24"},"spec":{"range":"10.71.1.0/24","allocations":{"1":{"id":"far",)"
                      R"("podref":"shop/other"}}}}')");
    const ProcessResult shown = run_ipam(with_cluster("show"));
    CHECK(shown.err == "");
    CHECK(shown.exit_status == 0);
    CHECK_THAT(lines_with(shown.out, "10.71.1.0/24"),
               Names("whereabouts", "show", "0%", "kube-system/show-10.71.1.0-24"));
    CHECK_THAT(lines_with(shown.out, "10.71.1.1 "), Names("whereabouts", "shop/other", "far"));
    shell(cluster() + "/delete ippools/show-10.71.1.0-24");
}

} // namespace rdmanet::test
