// Which files of the node a network may name.
#include "config_case.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <rdmanet/base/host_file.hpp>
#include <rdmanet/ipam/node_file.hpp>

#include <catch2/catch.hpp>

#include <string>

using namespace rdmanet;
using namespace rdmanet::ipam;
using namespace rdmanet::ipam::test;
using Catch::Matchers::Contains;
using rdmanet::test::concat;
using rdmanet::test::Names;

namespace {

struct NodeFiles {
    NodeFiles() { remove(); }
    ~NodeFiles() { remove(); }
    NodeFiles(const NodeFiles&) = delete;
    NodeFiles& operator=(const NodeFiles&) = delete;
    static void remove() {
        for (const char* directory : {"etc", "root"}) node_root().remove(directory);
    }

    /// What is said of a network that names the file.
    static std::string refusal(const std::string& file) {
        return refusal_of(concat(R"({"range": "10.0.0.0/24", "configuration_path": ")", file, "\"}"));
    }
    static NodeFile node_file() { return read_node_file(node_root().path()); }
};

constexpr const char* kUsual = "/etc/cni/net.d/whereabouts.d/whereabouts.conf";

} // namespace

TEST_CASE_METHOD(NodeFiles, "a network names files of a few directories only, and none that a link leads out of them") {
    node_root().write(kUsual, "{}");
    node_root().write("/srv/conf", "{}");
    CHECK(refusal(kUsual) == "accepted");
    CHECK_THAT(refusal("/srv/conf"), Names("configuration_path", "/srv/conf is not below a directory",
                                           "/etc/cni/net.d, /etc/kubernetes, /var/lib/rancher/k3s/agent/etc/cni/net.d",
                                           "\"directories\"", kNodeFile));
    node_root().link("/etc/cni/net.d/link", "../../../srv/conf");
    for (const char* file : {"/etc/cni/net.d/link", "/etc/cni/net.d/../../../srv/conf"})
        CHECK_THAT(refusal(file), Names("configuration_path", "leads out of /etc/cni/net.d"));
    CHECK(node_file().directory_of("/etc/kubernetes/admin.conf") == "/etc/kubernetes");
}

TEST_CASE_METHOD(NodeFiles, "the node's file lists those directories, and what it names itself may be anywhere") {
    node_root().write(kUsual, "{}");
    node_root().write("/srv/conf", "{}");
    node_root().write(kNodeFile, R"({"kubernetes": {"kubeconfig": "/mnt/k"}, "directories": ["/srv//"]})");
    CHECK(refusal("/srv/conf") == "accepted");
    CHECK_THAT(refusal(kUsual), Names(kUsual, "networks may use (/srv): "));
    CHECK(refusal(kNodeFile) == "accepted");
    CHECK(node_file().directory_of("/srv/k") == "/srv");
    CHECK(node_file().directory_of("/mnt/k").empty());
    for (const char* file : {"/srv2/k", "/srv", "/mnt/k2", "/etc/kubernetes/admin.conf"})
        CHECK_THROWS_AS(node_file().directory_of(file), base::OutsideError);
    node_root().write(kNodeFile, R"({"directories": []})");
    CHECK_THAT(refusal("/srv/conf"), Contains("not below a directory"));
    for (const char* list : {R"("/srv")", R"(["srv"])", "[1]"}) {
        node_root().write(kNodeFile, concat(R"({"directories": )", list, "}"));
        CHECK_THAT(refusal(kUsual), Names(kNodeFile, "directories"));
    }
}

TEST_CASE_METHOD(NodeFiles, "the node's file says how long its servers are waited for") {
    node_root().write(kNodeFile, R"({"kubernetes": {"kubeconfig": "/mnt/k", "requestTimeoutMs": 60000}})");
    CHECK(node_file().request_timeout == 60'000U);
    CHECK(!node_file().connect_timeout);
}
