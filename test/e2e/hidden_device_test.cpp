// A pod has hidden a device in a nested network namespace, where DEL cannot reach the device.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/nested_netns.hpp"
#include "support/patience.hpp"

#include <catch2/catch.hpp>

#include <future>
#include <string>
#include <vector>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// Runs DEL for all calls at the same time, and returns the answers.
std::vector<std::string> del_at_once(const std::vector<PluginCall>& calls) {
    std::vector<std::future<std::string>> answers;
    for (const PluginCall& call : calls)
        answers.push_back(std::async(std::launch::async, [&call] { return del(call); }));
    std::vector<std::string> texts;
    for (auto& answer : answers) texts.push_back(answer.get());
    return texts;
}

} // namespace

TEST_CASE("a VF that DEL cannot reach keeps its settings on the PF, with its link off, until it returns",
          "[sriov][reset][del][contain]") {
    const Vfs vfs("shared", 3);
    shell(concat("ip link set ", vfs.pf(), " vf 1 vlan 7"));
    const Pod pod("pod");
    const CheckedNode node(Numbers::ignored);
    std::vector<PluginCall> calls;
    for (const std::string members : {"'vlan':100,'spoofchk':'on','max_tx_rate':500,'link_state':'enable'",
                                      "'attach':'host-device'", "'vlan':100,'reset':true"}) {
        calls.push_back(vf_call(vfs, pod, static_cast<unsigned>(calls.size()), members));
        calls.back().ifname = concat("net", calls.size());
        (void)add(calls.back());
    }
    const NestedNetns nested(pod);
    for (const PluginCall& call : calls) nested.take(pod, call.ifname);
    CHECK(comes_true([&] { return nested.carrier("net1") != "" && nested.carrier("net2") != ""; }));
    const std::vector<std::string> answers = del_at_once(calls);
    CHECK_THAT(answers[0],
               Names("code 108", "still held", vfs.vf(0), "VF 0", vfs.pf(), "keeps its settings, and its link is off"));
    CHECK_THAT(answers[1], Names("VF 1", vfs.pf(), "keeps its settings, and its link is off"));
    CHECK(shell(concat(binary(), " state --json | jq -c '[.attachments[].delUnfinished]'")) == "[true,true]\n");
    CHECK(answers[2] == ""); // a reset binds the driver again, which removes the interface in any namespace
    CHECK_THAT(vfs.settings(0), Contains("vlan 100") && Contains("spoof checking on") &&
                                    Contains("max_tx_rate 500Mbps") && Contains("link-state disable"));
    CHECK_THAT(vfs.settings(1), Contains("vlan 7") && Contains("link-state disable"));
    CHECK(comes_true([&] { return nested.carrier("net1") == "" && nested.carrier("net2") == ""; }));
    nested.destroy();
    for (const PluginCall& call : calls) CHECK(del(call) == "");
}

TEST_CASE("a stale record never switches off a living pod's VF, and DEL waits only once for several devices",
          "[sriov][gc][del][contain]") {
    const Vfs vfs;
    const CheckedNode node(Numbers::ignored);
    Pod first("first");
    Pod other("other"); // a pod of another plugin
    const std::string sleeps = "/tmp/rdmanet-sleeps";
    std::vector<PluginCall> calls = {vf_call(vfs, first, 0), vf_call(vfs, first, 1)};
    calls[1].ifname = "net2";
    calls[1].more_environment = {"RDMANET_STATE_DIR=/run/rdmanet-other"};
    for (const PluginCall& call : calls) (void)add(call);
    first.destroy();
    for (unsigned number : {0U, 1U}) {
        const std::string device = concat("/sys/bus/pci/devices/", vfs.vf(number));
        CHECK(comes_true(
            [&] { return succeeds(concat("[[ $(ls ", device, "/net) && $(ls ", device, "/infiniband) ]]")); }));
        shell(concat("ip link set $(ls ", device, "/net) netns other && rdma dev set $(ls ", device,
                     "/infiniband) netns other && ip -n other link set net", number + 1, " up"));
    }
    PluginCall counted = calls[0];
    counted.program = "/tmp/rdmanet-counted";
    shell(concat("printf '#!/bin/bash\\nexec strace -f --seccomp-bpf -c -e trace=clock_nanosleep -o ", sleeps, " -- ",
                 binary(), "' >", counted.program, " && chmod +x ", counted.program));
    auto collected = std::async(
        std::launch::async, [&] { return succeeds(concat("RDMANET_STATE_DIR=/run/rdmanet-other ", binary(), " gc")); });
    CHECK_THAT(del(counted), Names("net device", vfs.vf(0)));
    CHECK_FALSE(collected.get());
    // DEL waits for 15 seconds in steps of 20 ms.
    CHECK(std::stoi(shell(concat("awk '$NF == \"total\" {print $4}' ", sleeps))) < 820);
    for (unsigned number : {0U, 1U}) {
        CHECK_THAT(vfs.settings(number), !Contains("link-state disable"));
        CHECK(other.succeeds(concat("ip -br link show net", number + 1, " | grep -q LOWER_UP")));
    }
    other.destroy();
    for (const PluginCall& call : calls) CHECK(del(call) == "");
    shell(concat("rm -rf /run/rdmanet-other* ", sleeps, ' ', counted.program));
}

} // namespace rdmanet::test
