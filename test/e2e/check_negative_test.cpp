// CHECK finds every difference from what ADD made.
#include "attachment_stage.hpp"
#include "golden.hpp"

#include "support/concat.hpp"
#include "support/lease_lines.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

TEST_CASE("CHECK detects every difference, and messages.golden has its words", "[check][golden]") {
    const VethParent parent("par0");
    const CheckedNode node;
    Pod pod("pod");
    const std::string mac = "02:00:00:00:31:01";
    const PluginCall call = call_for(pod, concat("'master':'par0','mtu':1400,'mac':'", mac, "',",
                                                 ipam("10.31.0.0/24", "'ipRanges':[{'range':'fd31::/64'}],'routes':["
                                                                      "{'dst':'10.32.0.0/16','gw':'10.31.0.254'}]")));
    Golden golden("CHECK");
    std::string result;
    const auto said_after = [&](const std::string& damage) {
        result = add(call);
        CHECK(check(call, result) == "");
        shell(damage);
        std::string said = check(call, result);
        CHECK(del(call) == "");
        return said;
    };
    for (const char* in_pod :
         {"link delete net1", "link set net1 down", "link set net1 address 02:00:00:00:00:77",
          "link set net1 type macvlan mode private", "link set net1 down; ip -n pod link set net1 name net7 up",
          "address del fd31::1/64 dev net1",
          "address del 10.31.0.1/24 dev net1; ip -n pod address add 10.31.0.1/25 dev net1", "route del 10.32.0.0/16",
          "route replace 10.32.0.0/16 via 10.31.0.253"})
        golden.add(concat(in_pod, ": ", said_after(concat("ip -n pod ", in_pod))));
    {
        const VethParent other("par1");
        golden.add(said_after(concat("ip -n pod link delete net1; ip link add link par1 name net1 netns pod address ",
                                     mac, " type macvlan mode bridge; ip -n pod link set net1 addrgenmode none up")));
    }
    golden.add(said_after("cd /run/rdmanet/attachments && jq '.phase=\"prepared\"' c1:net1:net.json >../x && "
                          "cp ../x c1* && rm ../x"));
    golden.add(said_after("rm -r /run/rdmanet/attachments"));
    CHECK(said_after("rm /run/rdmanet/leases") == ""); // the journal has the addresses
    CHECK(said_after("ip -n pod address add 10.31.0.9/24 dev net1") == "");
    golden.add(concat("after DEL: ", check(call, result)));
    result = add(call);
    forget_leases("/run/rdmanet/leases");
    golden.add(check(call, result));
    golden.add(check(with(call, "'mode':'vepa'"), result));
    golden.add(check(of(call, "another"), result));
    pod.destroy();
    golden.add(check(call, result));
    CHECK(del(call) == "");
    CHECK(golden.difference() == "");
}

} // namespace rdmanet::test
