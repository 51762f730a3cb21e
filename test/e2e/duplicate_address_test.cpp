// Addresses that another host in the network already has.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

namespace rdmanet::test {

using Catch::Contains;

namespace {

const char* const kOwnersMac = "02:00:00:00:00:0f";
const std::string kProbe = "'duplicateAddressDetection':'probe',";

/// Another host in the network of a parent.
struct Owner {
    Owner(const std::string& parent, const std::string& addresses) {
        shell(concat("ip link add link ", parent, " name own0 address ", kOwnersMac,
                     " netns owner type macvlan mode bridge"));
        pod.run("ip link set own0 up");
        for (std::size_t from = 0; from < addresses.size();) {
            const std::size_t end = std::min(addresses.find(' ', from), addresses.size());
            pod.run(concat("ip address add ", addresses.substr(from, end - from), " dev own0 nodad"));
            from = end + 1;
        }
    }

    Pod pod{"owner"};
};

/// A host that talks to the owner. It shows which MAC it has for an address.
struct Neighbour {
    Neighbour() { shell("ip address add 10.61.0.254/24 dev par0peer; ip address add fd61::ff/64 dev par0peer nodad"); }

    [[nodiscard]] static std::string mac_for(const std::string& address) {
        shell(concat("ping -c 1 -W 10 ", address));
        return shell(concat("ip neighbour show ", address, " dev par0peer"));
    }
};

/// The binary without write access to /proc/sys, as in a container that is not privileged.
class ReadOnlySysctls {
public:
    ReadOnlySysctls() {
        std::ofstream(path_) << "#!/bin/sh\nexec unshare -m sh -c 'mount --bind /proc/sys /proc/sys && mount -o "
                                "remount,bind,ro /proc/sys && exec "
                             << binary() << "'\n";
        std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    }
    ReadOnlySysctls(const ReadOnlySysctls&) = delete;
    ReadOnlySysctls& operator=(const ReadOnlySysctls&) = delete;
    ~ReadOnlySysctls() { std::filesystem::remove(path_); }

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_ = "/tmp/rdmanet-read-only-sysctls";
};

} // namespace

TEST_CASE("an IPv6 address that another host has stays there, and CHECK and state report the duplicate", "[address]") {
    const Stage stage;
    const Neighbour neighbour;
    const Owner owner("par0", "fd61::1/64");
    CHECK_THAT(Neighbour::mac_for("fd61::1"), Contains(kOwnersMac));
    const CheckedNode node;
    const PluginCall call = call_for(stage.pod, concat("'master':'par0',", ipam("fd61::/64")));
    const std::string result = add(call);
    CHECK(addresses(result) == "fd61::1/64");
    std::string said;
    CHECK(comes_true([&] { return !(said = check(call, result)).empty(); }));
    CHECK_THAT(said, Names("code 107", "fd61::1/64", "net1", "duplicate"));
    CHECK_THAT(Neighbour::mac_for("fd61::1"), Contains(kOwnersMac));
    CHECK_THAT(shell(concat(binary(), " state")),
               Contains("address fd61::1/64 of network \"net\"") && Contains("duplicate"));
    CHECK(value(shell(concat(binary(), " state --json")), "attachments.0.duplicates.0") == "fd61::1/64");
    CHECK(del(call) == "");
}

TEST_CASE("an IPv6 address is usable during duplicate address detection", "[address]") {
    const Stage stage;
    const Neighbour neighbour;
    const CheckedNode node;
    const PluginCall call = call_for(stage.pod, concat("'master':'par0',", ipam("fd61::/64")));
    const std::string result = add(call);
    // The kernel must not choose another interface's address as the source meanwhile.
    CHECK_THAT(stage.pod.run("ip route get fd61::ff"), Contains("dev net1") && Contains("src fd61::1"));
    CHECK(check(call, result) == "");
    CHECK(stage.pod.succeeds("ping -6 -c 1 -W 10 fd61::ff"));
    CHECK(comes_true([&] {
        return stage.pod.run("ip -6 address show dev net1 scope global").find("tentative") == std::string::npos;
    }));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
}

TEST_CASE("ADD warns if addresses are unusable until duplicate address detection ends", "[address]") {
    const Stage stage;
    stage.pod.run("sysctl -q net.ipv6.conf.default.keep_addr_on_down=1");
    const CheckedNode node;
    const ReadOnlySysctls sysctls;
    PluginCall call = call_for(stage.pod, concat("'master':'par0',", ipam("fd61::/64")));
    call.program = sysctls.path();
    const ProcessResult result = call.with_command("ADD").run();
    REQUIRE(result.exit_status == 0);
    CHECK_THAT(result.err, Names("IPv6", "net1", "usable 1", "2", "ADD", "read-only file system"));
    CHECK_THAT(stage.pod.run("ip -6 address show dev net1 scope global"), !Contains("optimistic"));
    CHECK(comes_true([&] {
        return stage.pod.run("ip -6 address show dev net1 scope global").find("tentative") == std::string::npos;
    }));
    CHECK(del(call) == "");
}

TEST_CASE("an ADD that probes refuses another host's address, names its MAC and updates no neighbour", "[address]") {
    const Stage stage;
    const Neighbour neighbour;
    const Owner owner("par0", "10.61.0.1/24 fd61::1/64");
    for (const std::string address : {"10.61.0.1", "fd61::1"})
        CHECK_THAT(Neighbour::mac_for(address), Contains(kOwnersMac));
    const CheckedNode node;
    const std::string space = "'network_name':'asked',"; // in which these addresses rest afterwards
    const std::string free_v6 = concat(space, "'ipRanges':[{'range':'fd61::/64','range_start':'fd61::2'}]");
    const auto calls = {
        std::pair(call_for(stage.pod, concat("'master':'par0',", kProbe, ipam("10.61.0.0/24", free_v6))), "10.61.0.1"),
        std::pair(call_for(stage.pod,
                           concat("'master':'par0',", kProbe,
                                  ipam("10.61.0.2-10.61.0.9/24", concat(space, "'ipRanges':[{'range':'fd61::/64'}]")))),
                  "fd61::1")};
    for (const auto& [call, taken] : calls) {
        CHECK_THAT(refusal(call), Names("code 105", "net1", "in use", taken, "MAC", kOwnersMac));
        CHECK_THAT(Neighbour::mac_for(taken), Contains(kOwnersMac));
        CHECK_FALSE(stage.pod.succeeds("ip link show net1"));
        CHECK(shell(concat(binary(), " state --json | grep -c fd61: || true")) == "0\n");
        CHECK(del(call) == "");
    }
}

TEST_CASE("after a probe found another host's address, the pod gets the next one", "[address]") {
    const Stage stage;
    const Neighbour neighbour;
    const Owner owner("par0", "10.61.0.1/24 10.61.0.2/24");
    const CheckedNode node;
    // Also a pod that would get its address back, and without a cooldown.
    PluginCall call =
        call_for(stage.pod, concat("'master':'par0',", kProbe, ipam("10.61.0.0/24", "'network_name':'retried'")));
    call.args = "K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till-0";
    for (const char* taken : {"10.61.0.1", "10.61.0.2"}) {
        CHECK_THAT(refusal(call), Names("code 105", "in use", taken, kOwnersMac));
        CHECK(del(call) == "");
    }
    CHECK(addresses(add(call)) == "10.61.0.3/24");
    CHECK(del(call) == "");
}

TEST_CASE("after an unanswered probe both families are usable and neighbours are updated at once", "[address]") {
    const Stage stage;
    const Neighbour neighbour;
    shell("ip neighbour add 10.61.0.1 lladdr 02:00:00:00:00:99 dev par0peer nud stale;"
          "ip neighbour add fd61::1 lladdr 02:00:00:00:00:99 dev par0peer nud stale");
    const CheckedNode node;
    const PluginCall call = call_for(
        stage.pod, concat("'master':'par0',", kProbe, ipam("10.61.0.0/24", "'ipRanges':[{'range':'fd61::/64'}]")));
    const std::string result = add(call);
    CHECK_THAT(stage.pod.run("ip -6 address show dev net1 scope global"),
               Contains("inet6 fd61::1/64") && !Contains("tentative"));
    const std::string mac = value(result, "interfaces.0.mac");
    for (const std::string address : {"10.61.0.1", "fd61::1"})
        CHECK(comes_true(
            [&] { return succeeds(concat("ip neighbour show ", address, " dev par0peer | grep -q ", mac)); }));
    CHECK(stage.pod.succeeds("ping -6 -c 1 -W 10 fd61::ff"));
    CHECK(stage.pod.succeeds("ping -4 -c 1 -W 10 10.61.0.254"));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
}

TEST_CASE("an interface without a carrier is not probed, and ADD warns", "[address]") {
    const Stage stage;
    shell("ip link set par0peer down");
    const CheckedNode node;
    const PluginCall call = call_for(stage.pod, concat("'master':'par0',", kProbe, ipam("10.61.0.0/24")));
    const ProcessResult result = call.with_command("ADD").run();
    CHECK(result.exit_status == 0);
    CHECK_THAT(result.err, Names("net1", "no carrier"));
    CHECK(addresses(result.out) == "10.61.0.1/24");
    CHECK(del(call) == "");
}

TEST_CASE("an ipvlan child's addresses are probed through its parent", "[address][ipvlan]") {
    NEEDS(kernel_has("ipvlan"), "ipvlan");
    const Stage stage;
    const Neighbour neighbour; // it has the addresses
    const CheckedNode node;
    const std::string mac = shell("tr -d '\\n' </sys/class/net/par0peer/address");
    const auto call = [&](const std::string& v4, const std::string& v6) {
        return call_for(stage.pod, concat("'attach':'ipvlan','master':'par0',", kProbe,
                                          ipam(v4, concat("'ipRanges':[{'range':'", v6, "'}]"))));
    };
    CHECK_THAT(refusal(call("10.61.0.254-10.61.0.254/24", "fd61::1-fd61::9/64")),
               Contains(concat("10.61.0.254 is in use")) && Contains(mac));
    CHECK_THAT(refusal(call("10.61.0.1-10.61.0.9/24", "fd61::ff-fd61::ff/64")),
               Names("in use", "fd61::ff") && Contains(mac));
    const PluginCall free = call("10.61.0.1-10.61.0.9/24", "fd61::1-fd61::9/64");
    const std::string result = add(free);
    CHECK(stage.pod.succeeds("ping -6 -c 1 -W 10 fd61::ff"));
    CHECK(stage.pod.succeeds("ping -4 -c 1 -W 10 10.61.0.254"));
    CHECK(check(free, result) == "");
    CHECK(del(free) == "");
}

TEST_CASE("state shows that a duplicate address still has a GID", "[address][rdma]") {
    NEEDS(!rdma_parent().empty(), "an RDMA parent");
    const Pod pod("pod");
    const Owner owner(rdma_parent(), "fd61::1/64");
    const CheckedNode node;
    const PluginCall call = call_for(pod, concat("'rdma':true,'master':'", rdma_parent(), "',", ipam("fd61::/64")));
    const std::string result = add(call);
    CHECK(comes_true([&] { return !check(call, result).empty(); }));
    CHECK_THAT(shell(concat(binary(), " state")),
               Contains("address fd61::1/64 of network \"net\"") && Contains("its GID, index ") && Contains("RoCE v2"));
    CHECK(del(call) == "");
}

} // namespace rdmanet::test
