// `rdmanet doctor`: device plugins and Multus' daemon, as processes of this machine.
#include "background_program.hpp"
#include "doctor_tree.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE("the doctor compares the selectors of a device plugin with the VFs of this node", "[doctor][sriov]") {
    const Vfs vfs;
    const Tree tree;
    const std::string folder = shell("echo -n $(mktemp -d)");
    const auto set = [&](const std::string& selectors) {
        std::ofstream(folder + "/config.json")
            << R"({"resourceList": [{"resourceName": "vfs", "selectors": {)" << selectors << "}}]}";
    };
    const auto says = [&] { return tree.says("device-plugins"); };
    CHECK_THAT(says(), Contains("not looked at: neither sriovdp nor "));
    // A script's process has the script's name. It waits for a writer, which never comes.
    shell(concat("printf '#!/bin/sh\nread line <\"$0.pipe\"\n' >", folder, "/sriovdp; chmod +x ", folder,
                 "/sriovdp; mkfifo ", folder, "/sriovdp.pipe"));
    set(concat(R"("pfNames": [")", vfs.pf(), R"(#0-1"], "isRdma": true, "drivers": ["simrnic"])"));
    {
        const BackgroundProgram plugin(concat(folder, "/sriovdp --config-file ", folder, "/config.json"));
        plugin.wait_until_called("sriovdp");
        CHECK(says() == "");
        set(concat(R"("pfNames": [")", vfs.pf(), R"(np0"])"));
        CHECK_THAT(says(), Names("warning", "resource vfs of sriovdp", concat("this node has ", vfs.pf(), "#0-")));
        set(R"("drivers": ["mlx5_ib"])");
        CHECK_THAT(says(), Contains("drivers mlx5_ib: this node has ") && Contains("simrnic"));
    }
    CHECK_THAT(says(), Contains("not looked at: neither sriovdp nor "));
    shell(concat("rm -r ", folder));
}

TEST_CASE("the doctor connects to the socket of Multus' daemon", "[doctor]") {
    const Tree tree;
    tree.write("/etc/cni/net.d/00-multus.conf", R"({"type": "multus-shim", "daemonSocketDir": "/run/multus"})");
    const auto says = [&] { return tree.says("multus"); };
    CHECK_THAT(says(), Contains("failure") && Contains("no process listens at /run/multus/multus.sock"));
    const std::string socket = tree.path("/run/multus/multus.sock");
    shell(concat("mkdir -p ", tree.path("/run/multus")));
    {
        const BackgroundProgram daemon(concat("python3 -c 'import signal, socket; s = socket.socket(",
                                              "socket.AF_UNIX); s.bind(\"", socket,
                                              "\"); s.listen(); signal.pause()'"));
        CHECK(comes_true([&] { return says().empty(); }));
    }
    CHECK_THAT(says(), Contains("failure") && Contains("no process listens at /run/multus/multus.sock"));
}

} // namespace rdmanet::test
