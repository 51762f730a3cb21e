// `rdmanet ipam show`, `check` and `release` as a person who has just the rights of
// conf-examples/cluster-operator.yaml, or all but one of them.
#include "cluster_stage.hpp"

#include "support/concat.hpp"
#include "support/example_rights.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/plugin_call.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace rdmanet::test {
namespace {

/// Of the roles for these commands.
std::vector<Right> rights_of_commands() {
    std::vector<Right> rights = rights_of_example("cluster-operator.yaml", "rdmanet-look");
    const std::vector<Right> more = rights_of_example("cluster-operator.yaml", "rdmanet-release");
    rights.insert(rights.end(), more.begin(), more.end());
    return rights;
}

/// Those of user "limited", as long as it lives.
class OperatorRole {
public:
    OperatorRole() {
        set(rights_of_commands());
        const std::string binding =
            R"({"kind":"ClusterRoleBinding","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"test-operator"},)"
            R"("roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"test-operator"},)"
            R"("subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"limited"}]})";
        shell(concat(cluster(), "/apply '", binding, "' ", kRoles, "bindings"));
    }
    OperatorRole(const OperatorRole&) = delete;
    OperatorRole& operator=(const OperatorRole&) = delete;
    ~OperatorRole() {
        (void)succeeds(concat(cluster(), "/delete ", kRoles, "bindings/test-operator; ", cluster(), "/delete ", kRoles,
                              "s/test-operator"));
    }
    static void set(const std::vector<Right>& rights) {
        const std::string role = concat(R"({"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1",)",
                                        R"("metadata":{"name":"test-operator"},"rules":)", rules_text(rights), "}");
        shell(concat("cd ", cluster(), " && . ./lib && api -o /dev/null --fail -X DELETE \"$url", kRoles,
                     "s/test-operator\"; ./apply '", role, "' ", kRoles, "s >/dev/null"));
    }

private:
    inline static const std::string kRoles = "/apis/rbac.authorization.k8s.io/v1/clusterrole";
};

/// What nobody needs any more: a record with its reservation.
void leave_something() {
    shell(concat(
        cluster(), R"(/apply '{"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool",)",
        R"("metadata":{"name":"op-10.76.0.0-24"},"spec":{"range":"10.76.0.0/24","allocations":)",
        R"({"1":{"id":"c","podref":"shop/gone","ifname":"net1"}}}}' >/dev/null || true; )", cluster(),
        R"(/apply '{"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"OverlappingRangeIPReservation",)",
        R"("metadata":{"name":"op-10.76.0.1"},"spec":{"podref":"shop/gone","ifname":"net1"}}' >/dev/null || true)"));
}
void remove_what_is_left() {
    for (const char* object : {"ippools/op-10.76.0.0-24", "overlappingrangeipreservations/op-10.76.0.1"})
        (void)succeeds(concat(cluster(), "/delete ", object, " >/dev/null"));
}

/// Whatever an earlier try has released of it.
void leave_something_anew() {
    remove_what_is_left();
    leave_something();
}

/// Everything that the three commands do. What they say; releases at the end, so that they have something to do.
std::string say_everything() {
    std::string said;
    for (const char* arguments : {"show", "check --pause 0", "release --yes --pod shop/gone"}) {
        const ProcessResult result =
            run_process({"sh", "-c",
                         concat("exec ", binary(), " ipam ", arguments, " --state-dir /run/nothing --kubeconfig ",
                                cluster(), "/limited.kubeconfig")});
        said += result.out + result.err;
    }
    return said;
}

} // namespace

TEST_CASE("ipam show, check and release work with the example's rights, and name each that is taken away",
          "[cluster][examples]") {
    NEEDS(!cluster().empty(), kNeedsCluster);
    const std::string networks = cluster() + "/get /apis/k8s.cni.cncf.io/v1/network-attachment-definitions";
    if (!succeeds(networks + " | jq --exit-status .items >/dev/null 2>&1"))
        shell(concat(
            cluster(), R"(/apply '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",)",
            R"("metadata":{"name":"network-attachment-definitions.k8s.cni.cncf.io"},"spec":{"group":)",
            R"("k8s.cni.cncf.io","scope":"Namespaced","names":{"plural":"network-attachment-definitions","kind":)",
            R"("NetworkAttachmentDefinition"},"versions":[{"name":"v1","served":true,"storage":true,"schema":)",
            R"({"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}' )",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions >/dev/null"));
    shell("until " + networks + " | jq --exit-status .items >/dev/null 2>&1; do :; done");
    const std::vector<Right> rights = rights_of_commands();
    OperatorRole role;
    std::string said;
    CHECK(comes_true([&] {
        leave_something_anew();
        said = say_everything();
        return said.find("forbidden") == std::string::npos;
    }));
    INFO(said);
    CHECK_THAT(said, Names("op-10.76.0.0-24", "released ", "op-10.76.0.1"));
    for (const Right& missing : rights) {
        const std::string named = missing.refusal();
        INFO(named);
        OperatorRole::set(without(missing, rights));
        CHECK(comes_true([&] { // the authorizer hears of the change a moment later
            leave_something_anew();
            said = say_everything();
            return said.find(named) != std::string::npos;
        }));
        CHECK_THAT(said, Names("\"limited\"")); // whom to give it
    }
    remove_what_is_left();
}

} // namespace rdmanet::test
