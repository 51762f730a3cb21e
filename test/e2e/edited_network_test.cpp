// DEL frees a VF although its network's configuration was changed: the IPAM plugin refuses it, or it has another
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

TEST_CASE("a failed ADD and its DEL free a VF although the IPAM plugin refuses the configuration",
          "[sriov][delegate][remaining]") {
    NEEDS_VFS();
    NEEDS(std::filesystem::exists(concat(kDebianPlugins, "/host-local")), "host-local");
    const VfStage stage;
    PluginCall wrong =
        with(vf_call(stage.vfs, stage.pod, 0, "'vlan':100"), "'ipam':{'type':'host-local','subnet':'10.3.0.1/24'}");
    wrong.config = replaced(wrong.config, "1.1.0", "1.0.0"); // Debian's plugins do not know 1.1.0
    CHECK_THAT(refusal(wrong), Names("code 999", "IPAM", "host-local", "ADD"));
    CHECK_THAT(stage.vfs.settings(0), !Contains("vlan"));
    const PluginCall next = of(vf_call(stage.vfs, stage.pod, 0, ipam("10.3.0.0/24")), "c2");
    CHECK(addresses(add(next)) == "10.3.0.1/24");
    CHECK(del(next) == "");
    CHECK(del(wrong) == "");
    CHECK(stage.node.difference() == "");
    // Somebody changed the network's type meanwhile. The other plugin delegates IPAM to rdmanet.
    PluginCall call = vf_call(stage.vfs, stage.pod, 0, concat("'vlan':100,", ipam("10.3.0.0/24")));
    (void)add(call);
    call.config = replaced(call.config, R"("type":"rdmanet","deviceID")", R"("type":"sriov","deviceID")");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
