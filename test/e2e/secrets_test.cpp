// Passwords and tokens, which no message, log or record may have, in whatever place they stand.
#include "attachment_stage.hpp"
#include "cluster_calls.hpp"

#include "support/concat.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {
namespace {

constexpr const char* kLog = "/var/log/rdmanet-secrets-test.log";

/// Everything that the calls of a network write: output, the log of everything, and the state directory.
std::string all_that_is_said(const PluginCall& call) {
    std::string said;
    for (const char* command : {"ADD", "CHECK", "STATUS", "DEL"}) {
        const ProcessResult result = call.with_command(command).run();
        said += result.out + result.err;
    }
    for (const std::vector<std::string>& command : {std::vector<std::string>{"plan", "--name", "net"}, {"gc"}}) {
        std::vector<std::string> arguments{binary()};
        arguments.insert(arguments.end(), command.begin(), command.end());
        const ProcessResult result = run_process(arguments, {.input = call.config});
        said += result.out + result.err;
    }
    return said +
           shell(concat("cat ", kLog, "; grep -r '' /run/rdmanet --include='*.json' --include='range-*' || true"));
}

PluginCall call_with(const Pod& pod, const std::string& ipam) {
    PluginCall call = call_for(pod, concat("'master':'par0','logLevel':'debug','logFile':'", kLog,
                                           "','ipam':{'type':'rdmanet','range':'10.79.0.0/24',", ipam, "}"));
    call.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till";
    return call;
}

} // namespace

TEST_CASE("the token of a kubeconfig is in no message, log or record, whatever fails", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const CheckedStage stage;
    shell(concat("touch ", kLog));
    const auto [file, trouble] = GENERATE(
        std::pair(kubeconfig(), "rdmanet"), std::pair(kubeconfig("rdmanet-token", "h1dden-token"), "HTTP 401"),
        std::pair(kubeconfig("", "", "nobody"), "HTTP 403"),
        std::pair(replaced(kubeconfig(), shell(concat(cluster(), "/get --url")), "https://127.0.0.1:1"), "refused"));
    INFO(trouble);
    const PluginCall call = call_with(stage.pod, in_cluster());
    write_kubeconfig(kubeconfig());
    (void)add(call); // so that there is a record, and something that is owed
    write_kubeconfig(file);
    const std::string said = all_that_is_said(call);
    CHECK_THAT(said, Catch::Contains(trouble) && !Catch::Contains("rdmanet-token") && !Catch::Contains("h1dden") &&
                         !Catch::Contains("nobody-token"));
    use_cluster_as("rdmanet");
    shell(binary() + " gc");
    shell(concat("rm ", kLog));
}

} // namespace rdmanet::test
