#include "support/names.hpp"

#include <rdmanet/cni/args.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/cni/net_conf.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;
using cni::Strictness;
using rdmanet::test::Names;

TEST_CASE("CNI_ARGS of Multus are parsed") {
    const auto args = cni::parse_args("IgnoreUnknown=true;K8S_POD_NAMESPACE=ml;K8S_POD_NAME=train-0;"
                                      "K8S_POD_INFRA_CONTAINER_ID=;K8S_POD_UID=1-2-3;MAC=02:00:00:00:00:01;"
                                      "IP=10.0.0.1/24,fd00::1",
                                      Strictness::strict);
    CHECK(args.pod_namespace == "ml");
    CHECK(args.pod_name == "train-0");
    CHECK(args.pod_uid == "1-2-3");
    CHECK(args.mac == "02:00:00:00:00:01");
    CHECK(args.ips == std::vector<std::string>{"10.0.0.1/24", "fd00::1"});
}

TEST_CASE("unknown keys are all named in one error, unless they are to be ignored") {
    for (const char* good : {"FOO=1;IgnoreUnknown=1", "IgnoreUnknown=TRUE;FOO=1", ""})
        CHECK_NOTHROW(cni::parse_args(good, Strictness::strict));
    CHECK_THROWS_WITH(cni::parse_args("FOO=1;K8S_POD_NAME=p;BAR=2", Strictness::strict),
                      Names("CNI_ARGS", "FOO", "BAR", "IgnoreUnknown=1"));
    CHECK_THROWS_AS(cni::parse_args("FOO=1;IgnoreUnknown=0", Strictness::strict), cni::CniError);
    CHECK_THROWS_AS(cni::parse_args("k8s_pod_name=p", Strictness::strict), cni::CniError); // as in Go: case-sensitive
}

TEST_CASE("a part holds exactly one '='") {
    CHECK_THROWS_WITH(cni::parse_args("IgnoreUnknown=1;FOO", Strictness::strict),
                      Names("CNI_ARGS", "KEY=VALUE", "FOO"));
    CHECK_THROWS_AS(cni::parse_args("IgnoreUnknown=1;A=B=C", Strictness::strict), cni::CniError);
    CHECK_THROWS_WITH(cni::parse_args("IgnoreUnknown=yes", Strictness::strict),
                      Names("CNI_ARGS", "IgnoreUnknown", "yes"));
}

TEST_CASE("bytes that JSON and the journal cannot hold are refused, and a lenient reading keeps what it can read") {
    CHECK_THROWS_WITH(cni::parse_args("K8S_POD_NAME=p\xff", Strictness::strict),
                      Names("CNI_ARGS", "expected UTF-8", "K8S_POD_NAME=p\\xff"));
    CHECK(cni::parse_args("K8S_POD_NAME=p\xff", Strictness::lenient).pod_name == "p\xff");
    CHECK(cni::parse_args("K8S_POD_NAME=\xc3\xbc", Strictness::strict).pod_name == "\xc3\xbc");
    const auto args = cni::parse_args("IgnoreUnknown=maybe;FOO;A=B=C;K8S_POD_NAME=p;;BAR=1;", Strictness::lenient);
    CHECK(args.pod_name == "p");
}

namespace {

cni::NetConf conf_with(const std::string& members) {
    return cni::parse_net_conf(R"({"name": "n", )" + members + "}", cni::Strictness::strict);
}

cni::Args args(const char* text) {
    return cni::parse_args(text, cni::Strictness::strict);
}

const char* const kAll = R"("runtimeConfig": {"mac": "02:00:00:00:00:0a", "ips": ["10.0.0.10/24", "fd00::a"]},
    "args": {"cni": {"mac": "02:00:00:00:00:0b", "ips": ["10.0.0.11"]}})";
const char* const kArgsOnly = R"("args": {"cni": {"mac": "02:00:00:00:00:0b", "ips": ["10.0.0.11"]}})";
const char* const kCniArgs = "MAC=02:00:00:00:00:0c;IP=10.0.0.12/16,10.0.0.13";

} // namespace

TEST_CASE("the newest mechanism that requests something wins, and an empty list requests nothing") {
    CHECK(cni::requested_mac(conf_with(kAll), args(kCniArgs))->source == "runtimeConfig.mac");
    CHECK(cni::requested_mac(conf_with(kArgsOnly), args(kCniArgs))->mac.to_string() == "02:00:00:00:00:0b");
    CHECK(cni::requested_mac(conf_with(R"("args": {})"), args(kCniArgs))->source == "CNI_ARGS MAC");
    CHECK_FALSE(cni::requested_mac(conf_with(R"("runtimeConfig": {"mac": ""})"), args("")));

    const auto ips = cni::requested_ips(conf_with(kAll), args(kCniArgs));
    REQUIRE(ips.size() == 2);
    CHECK(ips[0].address.to_string() == "10.0.0.10");
    CHECK(ips[0].prefix_length == 24U);
    CHECK(ips[1].source == "runtimeConfig.ips[1]");
    CHECK_FALSE(ips[1].prefix_length);
    CHECK(cni::requested_ips(conf_with(kArgsOnly), args(kCniArgs)).size() == 1);
    CHECK(cni::requested_ips(conf_with(R"("args": {"cni": {}})"), args(kCniArgs)).at(1).source == "CNI_ARGS IP");
    CHECK(cni::requested_ips(conf_with(R"("dns": {})"), args("")).empty());
    const auto conf = conf_with(R"("runtimeConfig": {"ips": []}, "args": {"cni": {"ips": null}})");
    CHECK(cni::requested_ips(conf, args(kCniArgs)).size() == 2);
}

TEST_CASE("the refusal of an invalid request names its source") {
    const auto mac = [](const char* members, const char* text) {
        (void)cni::requested_mac(conf_with(members), args(text));
    };
    const auto ips = [](const char* members, const char* text) {
        (void)cni::requested_ips(conf_with(members), args(text));
    };
    CHECK_THROWS_WITH(mac(R"("runtimeConfig": {"mac": "01:00:5e:00:00:01"})", ""),
                      Names("runtimeConfig.mac", "unicast", "01:00:5e:00:00:01"));
    CHECK_THROWS_WITH(mac(R"("args": {"cni": {"mac": 5}})", ""), Names("args.cni.mac", "string", "5"));
    CHECK_THROWS_WITH(mac(R"("dns": {})", "MAC=zz"), Names("CNI_ARGS MAC", "zz"));
    CHECK_THROWS_WITH(ips(R"("args": {"cni": {"ips": ["10.0.0.1", "10.0.0.300"]}})", ""),
                      Names("args.cni.ips[1]", "10.0.0.300"));
    CHECK_THROWS_WITH(ips(R"("dns": {})", "IP=10.0.0.1/33"), Names("CNI_ARGS IP", "10.0.0.1/33"));
    CHECK_THROWS_WITH(ips(R"("runtimeConfig": {"ips": "10.0.0.1"})", ""),
                      Names("runtimeConfig.ips", "array", "10.0.0.1"));
}
