// How the kernel shows an ipvlan attachment.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <optional>
#include <utility>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE("an ipvlan child has the configured mode and flag, and a MAC that the pod requests is a warning",
          "[ipvlan]") {
    NEEDS(kernel_has("ipvlan"), "ipvlan");
    const CheckedStage stage;
    const PluginCall plain = call_for(stage.pod, "'master':'par0','attach':'ipvlan'", "0.4.0");
    const PluginCall vepa = with(plain, "'mode':'l3s','flag':'vepa','mtu':1400");
    const std::string result = add(vepa);
    CHECK(addresses(result).empty());
    CHECK_THAT(stage.pod.run("ip -d link show net1"),
               Contains("ipvlan  mode l3s vepa ") && Contains(",UP") && Contains("mtu 1400 "));
    CHECK(check(vepa, result) == "");
    CHECK(del(vepa) == "");
    PluginCall by_arguments = plain;
    by_arguments.args = "IgnoreUnknown=1;MAC=02:00:00:00:00:42";
    for (const auto& [source, call] :
         {std::pair("CNI_ARGS MAC", by_arguments),
          {"runtimeConfig.mac", with(plain, "'runtimeConfig':{'mac':'02:00:00:00:00:42'}")}}) {
        const ProcessResult added = call.run();
        CHECK(added.exit_status == 0);
        CHECK_THAT(added.err, Names("not set", "warning", source, "02:00:00:00:00:42", "ipvlan", "MAC", "macvlan"));
        CHECK(check(call, added.out) == "");
        CHECK(del(call) == "");
    }
}

TEST_CASE("children of one parent have one kind and reach each other", "[ipvlan][macvlan][core]") {
    NEEDS(kernel_has("ipvlan"), "ipvlan");
    const Pod other("other");
    const CheckedStage stage;
    const std::string members = concat("'master':'par0','mode':'l2','flag':'private',", ipam("10.3.0.0/24"));
    const PluginCall first = of(call_for(stage.pod, members), "first");
    const std::string result = add(first);
    const PluginCall macvlan = call_for(other, "'master':'par0','attach':'macvlan'", "1.1.0", "others");
    CHECK_THAT(refusal(macvlan), Names("code 102", "another parent", "macvlan", "ipvlan"));
    CHECK_THAT(stage.pod.run("ip -d link show net1"), Contains("ipvlan  mode l2 private "));
    CHECK(check(first, result) == "");
    CHECK(del(first) == "");

    const std::string bridged = concat("'master':'par0','mode':'l2',", ipam("10.3.0.0/24"));
    const PluginCall second = call_for(stage.pod, bridged);
    const PluginCall third = of(call_for(other, bridged), "c3");
    CHECK(addresses(add(second)) == "10.3.0.1/24");
    CHECK(addresses(add(third)) == "10.3.0.2/24");
    CHECK(stage.pod.succeeds("ping -c 1 -W 5 10.3.0.2"));
    CHECK(del(second) == "");
    CHECK(del(third) == "");
    (void)add(macvlan);
    CHECK_THAT(refusal(second), Names("code 102", "another parent", "macvlan", "ipvlan"));
    CHECK(del(macvlan) == "");
}

TEST_CASE("a pod that returns with its address on ipvlan waits for its earlier attachment", "[ipvlan][again]") {
    NEEDS(kernel_has("ipvlan"), "ipvlan");
    const VethParent parent("par0");
    const CheckedNode node;
    const std::string members =
        concat("'master':'par0','attach':'ipvlan','runtimeConfig':{'ips':['10.4.7.7/24']},", ipam("10.4.7.0/24"));
    auto before = std::make_optional<Pod>("before");
    add(of(call_for(*before, members), "before"));
    Pod after("after");
    before->destroy();
    const PluginCall call = of(call_for(after, members), "after");
    CHECK(addresses(add(call)) == "10.4.7.7/24");
    CHECK(del(call) == "");
    CHECK_THAT(shell(concat(binary(), " state --json")), !Contains("10.4.7.7"));
    after.destroy();
}

} // namespace rdmanet::test
