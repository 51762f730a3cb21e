// How a pod asks for an address. Which one it gets is in the unit tests of ipam.
#include "attachment_stage.hpp"

#include "support/concat.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

namespace {

std::string give(const PluginCall& call) {
    return addresses(add(call));
}

} // namespace

TEST_CASE("a pod gets the address that it asks for, by each way of asking", "[ipam]") {
    const CheckedStage stage;
    const PluginCall call =
        call_for(stage.pod, concat("'master':'par0',", ipam("10.21.5.0/24", "'ipRanges':[{'range':'fd21:5::/64'}]")));
    const auto given = [&](const PluginCall& asking) {
        const std::string text = give(asking);
        CHECK(del(asking) == "");
        return text;
    };
    CHECK(given(with(call, "'runtimeConfig':{'ips':['10.21.5.50']}")) == "10.21.5.50/24 fd21:5::1/64");
    CHECK(given(with(call, "'args':{'cni':{'ips':['fd21:5::51/64']}}")) == "10.21.5.1/24 fd21:5::51/64");
    PluginCall with_args = call;
    with_args.args = "IgnoreUnknown=1;IP=10.21.5.52,fd21:5::52";
    CHECK(given(with_args) == "10.21.5.52/24 fd21:5::52/64");
}

} // namespace rdmanet::test
