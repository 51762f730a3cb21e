// Rights of the user "limited" (test/cluster/cluster.sh), as long as the object lives.
#pragma once

#include "fixture.hpp"

#include "support/example_rights.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <vector>

namespace rdmanet::cluster::test {

using rdmanet::test::Right;
using rdmanet::test::rights_of_example;

class Role {
public:
    Role(kube::Api& admin, const std::vector<Right>& rights) : admin_(admin), name_(own_space()) {
        create("clusterroles",
               R"({"metadata":{"name":")" + name_ + R"("},"rules":)" + rdmanet::test::rules_text(rights) + "}");
        create("clusterrolebindings",
               R"({"metadata":{"name":")" + name_ +
                   R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":")" + name_ +
                   R"("},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"limited"}]})");
    }
    Role(const Role&) = delete;
    Role& operator=(const Role&) = delete;
    ~Role() {
        for (const char* plural : {"clusterrolebindings", "clusterroles"}) {
            const std::string path = kGroup + plural + "/" + name_;
            const auto outcome = admin_.get(path, soon());
            if (const auto* object = std::get_if<kube::Object>(&outcome))
                (void)admin_.remove(
                    path, {.uid = object->content.root().at("metadata").at("uid").string(), .resource_version = {}},
                    soon());
        }
    }
    void set(const std::vector<Right>& rights) {
        expect(admin_.patch(kGroup + "clusterroles/" + name_,
                            R"([{"op":"replace","path":"/rules","value":)" + rdmanet::test::rules_text(rights) + "}]",
                            soon()));
    }

private:
    void create(const std::string& plural, const std::string& body) {
        expect(admin_.create(kGroup + plural, body, soon()));
    }
    static void expect(const kube::Outcome& outcome) {
        if (const auto* refused = std::get_if<kube::Refused>(&outcome)) throw std::runtime_error(refused->message);
    }

    const std::string kGroup = "/apis/rbac.authorization.k8s.io/v1/";
    kube::Api& admin_;
    std::string name_;
};

/// With `rights`, the user "limited" can do everything. Without one of them, a refusal names it and the user, so that
/// no right is too many. `refusal` does everything, and returns what was refused.
inline void check_each_right(kube::Api& admin, const std::vector<Right>& rights,
                             const std::function<std::string()>& refusal) {
    Role role(admin, rights);
    std::string said;
    CHECK(comes_true([&] { return (said = refusal()).empty(); }));
    INFO(said);
    for (const Right& missing : rights) {
        const std::string named = missing.refusal();
        INFO(named);
        role.set(rdmanet::test::without(missing, rights));
        // The authorizer hears of the change a moment later.
        CHECK(comes_true([&] { return (said = refusal()).find(named) != std::string::npos; }));
        CHECK_THAT(said, Catch::Matchers::Contains("limited")); // whom to give it
    }
}

} // namespace rdmanet::cluster::test
