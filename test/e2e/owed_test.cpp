// A VF is free after a DEL whatever its network's configuration has become: refused by its IPAM plugin, or of another
// type.
#include "runtime.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE("a VF whose IPAM plugin refuses its configuration is free at once, and DEL succeeds",
          "[sriov][delegate][owed]") {
    NEEDS_VFS();
    NEEDS(std::filesystem::exists(concat(kDebianPlugins, "/host-local")), "host-local");
    const VfStage stage;
    PluginCall wrong =
        with(vf_call(stage.vfs, stage.pod, 0, "'vlan':100"), "'ipam':{'type':'host-local','subnet':'10.3.0.1/24'}");
    wrong.config = replaced(wrong.config, "1.1.0", "1.0.0"); // Debian's is older than the former
    CHECK_THAT(refusal(wrong), Names("code 999", "IPAM", "host-local", "ADD"));
    CHECK_THAT(stage.vfs.settings(0), !Contains("vlan"));
    const PluginCall next = of(vf_call(stage.vfs, stage.pod, 0, ipam("10.3.0.0/24")), "c2");
    CHECK(addresses(add(next)) == "10.3.0.1/24");
    CHECK(del(next) == "");
    CHECK(del(wrong) == "");
    CHECK(stage.node.difference() == "");
    // The network's type was changed meanwhile, and that plugin asks here for addresses.
    PluginCall call = vf_call(stage.vfs, stage.pod, 0, concat("'vlan':100,", ipam("10.3.0.0/24")));
    (void)add(call);
    call.config = replaced(call.config, R"("type":"rdmanet","deviceID")", R"("type":"sriov","deviceID")");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
