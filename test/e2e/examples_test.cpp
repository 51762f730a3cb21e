// Every file of conf-examples, executed as it is written on the node that it is written for.
#include "attachment_stage.hpp"
#include "example_node.hpp"
#include "example_pod.hpp"
#include "markdown.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <map>
#include <set>

namespace rdmanet::test {

using Catch::Matchers::StartsWith;
namespace fs = std::filesystem;

namespace {

/// What a network promises to the first pod on it.
struct Promise {
    std::string addresses;
    std::string device; // that has the addresses as GIDs
    std::string in_pod; // a script, every command of which succeeds in the pod
};

const std::string kRails = "[ $(sysctl -n net.ipv4.conf.all.arp_ignore) = 1 ]\n"
                           "[ $(sysctl -n net.ipv4.conf.all.arp_announce) = 2 ]\n";

const std::map<std::string, Promise> kPromises{
    {"roce-macvlan.conflist", {"192.168.100.2/24", "mlx5_0", "ip -d link show net1 | grep 'macvlan mode bridge'"}},
    {"roce-macvlan.json", {"192.168.100.1/24 fd00:100::1/64", "mlx5_0", "ip -d link show net1 | grep macvlan"}},
    {"roce-ipvlan.conflist",
     {"192.168.101.10/24", "mlx5_0",
      "ip -d link show net1 | grep 'ipvlan  *mode l2' && ip link show net1 | grep 02:52:"}},
    {"roce-dual-stack.conflist",
     {"192.168.102.2/24 fd00:102::2/64", "mlx5_0",
      "ip route get 10.200.0.1 | grep 'via 192.168.102.1 dev net1'\n"
      "ip route get fd00:200::1 | grep 'via fd00:102::1 dev net1'\n"
      "ip link show net1 | grep 'mtu 1500'"}},
    {"roce-several-ranges.conflist",
     {"192.168.103.50/24 192.168.104.4/25", "mlx5_0",
      "ip -d link show net1 | grep 'macvlan mode private' | grep 'bcqueuelen 2000'\n"
      "ip route show 10.103.0.0/16 | grep 'via 192.168.103.254 dev net1 metric 50 mtu 1400'\n"
      "grep 'ADD' /var/log/rdmanet.log"}},
    {"roce-vlan.conflist", {"192.168.105.1/24", "mlx5_0", "ip link show net1 | grep 'mtu 1500'"}},
    {"roce-rail-tuning-sbr.conflist",
     {"192.168.106.2/24", "mlx5_1",
      kRails + "[ $(sysctl -n net.ipv4.conf.all.rp_filter) = 2 ]\nip rule | grep 'from 192.168.106.2 '"}},
    {"ipam-host-local.conflist",
     {"192.168.107.20/24", "mlx5_0", "ip route get 10.107.0.1 | grep 'via 192.168.107.1 dev net1'"}},
    {"ipam-static.conflist",
     {"192.168.108.10/24 fd00:108::10/64", "mlx5_0", "ip link show net1 | grep 02:00:00:00:01:08"}},
    {"macvlan-with-rdmanet-ipam.conflist",
     {"192.168.109.1/24 fd00:109::9/64", "", "ip -d link show net1 | grep 'macvlan mode bridge'"}},
    {"default/roce", {"192.168.110.1/24 fd00:110::1/64", "mlx5_0", ""}},
    {"default/rail-0", {"192.168.120.2/24", "mlx5_0", kRails + "ip rule | grep 'from 192.168.120.2 '"}},
    {"default/rail-1", {"192.168.121.2/24", "mlx5_1", kRails + "ip rule | grep 'from 192.168.121.2 '"}},
    {"default/migrated", {"192.168.130.16/24", "mlx5_0", "ip -d link show net1 | grep 'macvlan mode bridge'"}},
};

/// Run by a case of its own.
const std::string kDhcp = "ipam-dhcp.conflist";

std::set<std::string> files_with(const std::set<std::string>& endings) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(source_path("conf-examples")))
        if (endings.contains(entry.path().extension())) names.insert(entry.path().filename());
    return names;
}

std::string text_of(const std::string& file) {
    return source_text(concat("conf-examples/", file));
}

Manifests manifests() {
    Manifests all;
    for (const std::string& file : files_with({".yaml"})) read_manifests(text_of(file), all);
    return all;
}

/// ADD, what it promises, CHECK, DEL.
void run(const Network& network, const Promise& promise) {
    const Pod pod("pod");
    const Attachment attachment{.netns = pod.path()};
    CHECK(network.status() == "");
    const std::string result = network.add(attachment);
    CHECK(addresses(result) == promise.addresses);
    CHECK(failure_of(pod, promise.in_pod) == "");
    if (!promise.device.empty()) CHECK(addresses_without_gid(result, promise.device, "net1") == "");
    CHECK(network.check(attachment, result) == "");
    CHECK(network.del(attachment, result) == "");
}

void run_if_installed(const Network& network, const std::string& name) {
    INFO(name);
    const auto promise = kPromises.find(name);
    if (promise == kPromises.end())
        FAIL_CHECK("no promise is known");
    else if (network.is_runnable())
        run(network, promise->second);
    else
        mark_skipped(concat("Debian's CNI plugins for ", name));
}

} // namespace

TEST_CASE("every example is known to a test and has its line in the examples' README", "[examples]") {
    std::set<std::string> known{kDhcp};
    std::set<std::string> definitions;
    for (const auto& [name, promise] : kPromises)
        (name.find('/') == std::string::npos ? known : definitions).insert(name);
    CHECK(files_with({".conflist", ".json"}) == known);
    std::set<std::string> defined;
    for (const auto& definition : manifests().networks) defined.insert(definition.key);
    CHECK(defined == definitions);

    std::set<std::string> listed{"README.md"};
    const std::string readme = text_of("README.md");
    for (std::size_t at = 0; (at = readme.find("\n| [", at)) != std::string::npos; at += 4) {
        const std::string name = readme.substr(at + 4, readme.find(']', at) - at - 4);
        CHECK(readme.compare(at + 4, 2 * name.size() + 3, concat(name, "](", name, ')')) == 0);
        listed.insert(name);
    }
    CHECK(files_with({".conflist", ".json", ".yaml", ".md"}) == listed);
    CHECK(files_with({".conflist", ".yaml", ".md", ".json"}).size() ==
          static_cast<std::size_t>(
              std::distance(fs::directory_iterator(source_path("conf-examples")), fs::directory_iterator())));
}

TEST_CASE("the example networks do what they promise", "[examples]") {
    NEEDS(ExampleNode::lacks().empty(), ExampleNode::lacks());
    const ExampleNode node;
    for (const std::string& file : files_with({".conflist", ".json"})) {
        if (file == kDhcp) continue;
        run_if_installed(Network(text_of(file)), file);
    }
    for (const auto& definition : manifests().networks) {
        const Network network(definition.config, definition.name);
        CHECK(network.name() == definition.name);
        run_if_installed(network, definition.key);
    }
    CHECK(node.difference() == "");
}

TEST_CASE("the example pods get the networks that they name, and reach each other", "[examples]") {
    NEEDS(ExampleNode::lacks().empty(), ExampleNode::lacks());
    const ExampleNode node;
    const Manifests all = manifests();
    {
        const RunningPod server(all.pod("roce-server"), all);
        const RunningPod client(all.pod("roce-client"), all);
        const RunningPod chosen(all.pod("parameter-server"), all);
        const RunningPod worker(all.pod("worker-0"), all);
        CHECK(all.pods.size() == 4);
        CHECK(addresses(server.result(0)) == "192.168.110.1/24 fd00:110::1/64");
        CHECK(addresses(client.result(0)) == "192.168.110.2/24 fd00:110::2/64");
        CHECK(addresses_without_gid(client.result(0), "mlx5_0", "roce0") == "");
        CHECK(failure_of(client.pod(), "ping -c 1 -W 10 192.168.110.1 && ping -c 1 -W 10 fd00:110::1") == "");
        CHECK(addresses(chosen.result(0)) == "192.168.110.200/24 fd00:110::200/64");
        CHECK(mac_of(chosen.pod(), "roce0") == "02:00:00:00:02:00");
        CHECK(addresses(worker.result(0)) == "192.168.120.2/24");
        CHECK(addresses(worker.result(1)) == "192.168.121.2/24");
        CHECK(addresses_without_gid(worker.result(1), "mlx5_1", "net2") == "");
        for (const RunningPod* pod : {&server, &client, &chosen, &worker}) {
            CHECK(pod->check() == "");
            CHECK(pod->del() == "");
        }
    }
    CHECK(node.difference() == "");
}

TEST_CASE("the example pods ask for resources that the example device plugin has", "[examples]") {
    const Manifests all = manifests();
    std::set<std::string> offered;
    for (const DeviceResource& resource : all.resources) {
        offered.insert(resource.name);
        CHECK(resource.interfaces == std::vector<std::string>{"eth1", "eth2"});
    }
    CHECK_FALSE(offered.empty());
    for (const PodManifest& pod : all.pods) {
        INFO(pod.name);
        CHECK(pod.every_container_locks_memory);
        CHECK_FALSE(pod.resources.empty());
        for (const std::string& resource : pod.resources) CHECK(offered.contains(resource));
        for (const NetworkRequest& request : pod.networks) CHECK_NOTHROW((void)all.network(request.key));
    }
}

TEST_CASE("the example with a DHCP server gets its lease", "[examples]") {
    NEEDS(ExampleNode::lacks().empty(), ExampleNode::lacks());
    NEEDS(succeeds("busybox udhcpd --help 2>&1 | grep -q Usage"), "busybox udhcpd");
    const Network network(text_of(kDhcp));
    NEEDS(network.is_runnable(), "Debian's CNI plugins");
    const ExampleNode node;
    {
        const Pod server("dhcpserver");
        shell("ip link add name lan0 link eth2 netns dhcpserver type macvlan && ip -netns dhcpserver address add "
              "192.168.112.1/24 dev lan0 && ip -netns dhcpserver link set lan0 up && mkdir -p /tmp/examples-dhcp "
              "/run/cni && cd /tmp/examples-dhcp && touch leases && printf '%s\\n' 'start 192.168.112.50' "
              "'end 192.168.112.59' 'interface lan0' 'lease_file /tmp/examples-dhcp/leases' "
              "'pidfile /tmp/examples-dhcp/pid' 'option subnet 255.255.255.0' 'option lease 600' > conf");
        shell("cd /tmp/examples-dhcp; setsid ip netns exec dhcpserver busybox udhcpd -f conf </dev/null >server.log "
              "2>&1 & rm -f /run/cni/dhcp.sock; setsid /usr/lib/cni/dhcp daemon -pidfile "
              "/tmp/examples-dhcp/daemon.pid </dev/null >/tmp/examples-dhcp/daemon.log 2>&1 & for try in $(seq 100); "
              "do [ -S /run/cni/dhcp.sock ] && [ -s /tmp/examples-dhcp/pid ] && break; sleep 0.1; done");
        const Pod pod("pod");
        const Attachment attachment{.netns = pod.path()};
        const std::string result = network.add(attachment);
        CHECK_THAT(addresses(result), StartsWith("192.168.112.5"));
        CHECK(addresses_without_gid(result, "mlx5_0", "net1") == "");
        CHECK(network.check(attachment, result) == "");
        CHECK(network.del(attachment, result) == "");
        shell("kill $(</tmp/examples-dhcp/daemon.pid) $(</tmp/examples-dhcp/pid) && rm -rf /tmp/examples-dhcp "
              "/run/cni/dhcp.sock");
    }
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
