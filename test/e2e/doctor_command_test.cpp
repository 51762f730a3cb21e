// The command `rdmanet doctor`: pods that are not there, and texts of errors to explain.
#include "doctor_provocation.hpp"

#include "markdown.hpp"

#include "support/concat.hpp"
#include "support/documented_check.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace rdmanet::test {

using Catch::Contains;

namespace {

constexpr const char* kNoSuchText = "all is well";

/// What `rdmanet doctor` prints, with the exit status at its end.
std::string said(const std::string& arguments) {
    return shell(concat("{ ", binary(), " doctor ", arguments, "; echo \"status $?\"; } 2>&1"));
}

std::string found_of_pod() {
    return found_by("pod-found", "--pod shop/till");
}

/// Waits, because processes of the runtime's side end in their own time.
bool becomes(const std::string& fault) {
    return comes_true([&] { return is_documented(source_text("docs/doctor.md"), "pod-found", fault, found_of_pod()); });
}

} // namespace

TEST_CASE("the doctor looks at the node although the pod is not there", "[doctor]") {
    const Stage stage;
    PluginCall call = call_for(stage.pod, "'master':'par0','ipam':{}");
    call.args = "K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till;K8S_POD_UID=uid-1";
    (void)add(call);
    CHECK(found_of_pod() == "");
    CHECK_THAT(said("--pod till"), Names("NAMESPACE/NAME", "give shop/till", "status 3"));
    CHECK_THAT(said("--namespace shop --pod shop/till"), Names("the pod's name alone", "status 3"));
    CHECK_THAT(said("-n shop"), Names("requires --pod", "status 3"));
    CHECK_THAT(said("--pod nobody"), Names("NAMESPACE/NAME", "no pod of that name", "status 3"));
    CHECK_THAT(said("--pod /run/netns/nowhere"), Names("not a network namespace", "shop/till", "status 3"));

    shell("ip netns delete pod");
    CHECK(becomes("a pod ends without DEL"));
    CHECK_THAT(found_of_pod(), Names("shop/till", "`rdmanet gc`", "`kubectl describe pod -n shop till`"));
    CHECK(found_by("pod-found", "-n shop --pod till") == found_of_pod());
    const std::string shown = said("-o wide --pod shop/till");
    CHECK_THAT(shown, Names("failure pod-found shop/till", "mode-at-boot", "status 2"));
    CHECK_THAT(shown, !Contains("pod-memlock")); // there is nothing that it could look at

    shell(concat(binary(), " gc"));
    CHECK(becomes("a pod that has not started"));
    CHECK_THAT(found_of_pod(), Names("`kubectl describe pod -n shop till`", "`rdmanet doctor explain"));
    CHECK_THAT(said("--pod shop/till"), Contains("status 2"));

    shell("ip netns add pod");
    (void)add(call);
    CHECK(found_of_pod() == "");
    CHECK(del(call) == "");
}

TEST_CASE("an error's text may be words, one argument, or standard input", "[doctor]") {
    const std::string quoted = said("explain 'Failed to modify QP to RTR'");
    CHECK_THAT(quoted, Names("GID index", "status 0"));
    CHECK(said("explain Failed to modify QP to RTR") == quoted);
    CHECK(said("explain - <<<'Failed to modify QP to RTR'") == quoted);
    CHECK_THAT(said(concat("explain ", kNoSuchText)), Names("no known cause", "docs/troubleshooting.md", "status 1"));
    CHECK_THAT(said("explain - </dev/null"), Contains("status 1"));
    CHECK_THAT(said("explain"), Names("TEXT", "status 3"));
}

TEST_CASE("the help of `doctor explain` is its own", "[doctor]") {
    const std::string help = shell(concat(binary(), " doctor explain --help"));
    CHECK_THAT(help, Names("Usage: rdmanet doctor explain [OPTIONS] TEXT", "Exit status: 0",
                           "Example: rdmanet doctor explain "));
    CHECK_THAT(help, !Contains("TEXT TEXT") && !Contains("REQUIRED"));
    CHECK(shell(concat(binary(), " help doctor explain")) == help);
    CHECK_THAT(shell(concat("! ", binary(), " help doctor nothing 2>&1")), Names("nothing", "expected one of explain"));
}

} // namespace rdmanet::test
