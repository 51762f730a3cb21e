// The policies of conf-examples/cluster-admission.yaml, each with a name of its own here, and only for objects of
// this case.
#include "blocks_fixture.hpp"

#include "support/source_path.hpp"

#include <catch2/catch.hpp>
#include <yaml-cpp/yaml.h>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

namespace {

void write(json::Writer& writer, const YAML::Node& node) {
    if (node.IsMap()) {
        writer.begin_object();
        for (const auto& member : node) write(writer.key(member.first.as<std::string>()), member.second);
        writer.end_object();
    } else if (node.IsSequence()) {
        writer.begin_array();
        for (const YAML::Node& element : node) write(writer, element);
        writer.end_array();
    } else {
        writer.value(node.as<std::string>());
    }
}

class Admission : public BlocksFixture {
public:
    Admission() {
        for (YAML::Node object :
             YAML::LoadAllFromFile(rdmanet::test::source_path("conf-examples/cluster-admission.yaml"))) {
            const bool is_policy = object["kind"].as<std::string>() == "ValidatingAdmissionPolicy";
            object["metadata"]["name"] = space + "-" + object["metadata"]["name"].as<std::string>();
            YAML::Node condition;
            condition["name"] = "is-of-this-case";
            condition["expression"] = "object.metadata.name.startsWith('" + space + "')";
            if (is_policy)
                object["spec"]["matchConditions"].push_back(condition);
            else
                object["spec"]["policyName"] = object["metadata"]["name"];
            json::Writer writer;
            write(writer, object);
            paths_.push_back(std::string("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic") +
                             (is_policy ? "ies" : "ybindings"));
            create(paths_.back(), writer.to_text());
            paths_.back() += "/" + object["metadata"]["name"].as<std::string>();
        }
    }
    ~Admission() {
        for (const std::string& path : paths_) delete_object(path);
    }

    /// Empty: it was done.
    static std::string refusal(const kube::Outcome& outcome) {
        const auto* refused = std::get_if<kube::Refused>(&outcome);
        return refused == nullptr ? "" : refused->message;
    }

private:
    std::vector<std::string> paths_;
};

} // namespace

TEST_CASE_METHOD(Admission, "nobody allocates from a pool that an AddressRange covers") {
    const std::string name = space + "-10.0.0.0-24";
    const std::string pools = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/ippools";
    create(pools, R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":")" + name +
                      R"("},"spec":{"range":"10.0.0.0/24","allocations":{"1":{"id":"a","podref":"x/y"}}}})");
    const std::string pool = pools + "/" + name;
    int next = 2;
    const auto allocate = [&] {
        return refusal(admin->patch(pool,
                                    R"([{"op":"add","path":"/spec/allocations/)" + std::to_string(next++) +
                                        R"(","value":{"id":"b","podref":"x/z"}}])",
                                    soon()));
    };
    CHECK(allocate().empty());
    patch(pool, R"([{"op":"add","path":"/metadata/annotations","value":{"rdmanet.cni/address-range":"uid"}}])");
    std::string said;
    CHECK(comes_true([&] { return !(said = allocate()).empty(); })); // the server hears of the policy a moment later
    CHECK_THAT(said, Contains("an AddressRange of rdmanet has the addresses of 10.0.0.0/24 now"));
    patch(pool, R"([{"op":"replace","path":"/spec/allocations/1/id","value":"successor"}])");
    patch(pool, R"([{"op":"remove","path":"/spec/allocations/1"}])");
    patch(pool, R"([{"op":"remove","path":"/metadata/annotations"}])");
    CHECK(allocate().empty());
}

TEST_CASE_METHOD(Admission, "a wrong AddressRange is refused when it is applied") {
    int count = 0;
    const auto apply = [&](const std::string& spec) {
        const std::string name = space + "-" + std::to_string(++count);
        return refusal(
            admin->create(kRangesPath,
                          R"({"apiVersion":"rdmanet.cni/v1alpha1","kind":"AddressRange","metadata":{"name":")" + name +
                              R"("},"spec":{"networkName":")" + space + R"(",)" + spec + "}}",
                          soon()));
    };
    CHECK(comes_true([&] { return !apply(R"("range":"10.0.0.1/16")").empty(); }));
    CHECK_THAT(apply(R"("range":"10.0.0.1/16")"), Contains("the first address of a range"));
    CHECK_THAT(apply(R"("range":"10.0.0.0/33")"), Contains("the first address of a range"));
    CHECK_THAT(apply(R"("range":"10.0.0.0/16","requestable":"10.1.0.0/24")"), Contains("a part of spec.range"));
    CHECK_THAT(apply(R"("range":"10.0.0.0/16","requestable":"10.0.0.1/24")"), Contains("a part of spec.range"));
    CHECK(apply(R"("range":"10.0.0.0/16","requestable":"10.0.5.0/24","blockSize":32,"goneAfter":"1h30m")").empty());
    CHECK(apply(R"("range":"fd00:64::/64")").empty());
    // These, every server refuses.
    CHECK_THAT(apply(R"("range":"ten")"), Contains("spec.range"));
    CHECK_THAT(apply(R"("range":"10.0.0.0/16","blockSize":24)"), Contains("spec.blockSize"));
    CHECK_THAT(apply(R"("range":"10.0.0.0/16","goneAfter":"9m")"), Contains("at least 10m"));
    CHECK_THAT(apply(R"("range":"10.0.0.0/16","goneAfter":"soon")"), Contains("spec.goneAfter"));
    CHECK_THAT(refusal(admin->patch(std::string(kRangesPath) + "/" + space + "-" + std::to_string(count - 4),
                                    R"([{"op":"replace","path":"/spec/range","value":"fd00::/64"}])", soon())),
               Contains("an AddressRange can't be changed"));
}
