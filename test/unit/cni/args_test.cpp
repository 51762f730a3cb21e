#include "support/names.hpp"

#include <rdmanet/cni/args.hpp>
#include <rdmanet/cni/error.hpp>

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
