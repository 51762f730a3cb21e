// Runs every network of conf-examples, unchanged, on the node that it is written for. Also
// runs most of its pods.
#include "attachment_stage.hpp"
#include "example_node.hpp"
#include "example_pod.hpp"
#include "markdown.hpp"
#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <map>
#include <set>

namespace rdmanet::test {

using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

/// What a network promises to the first pod on it.
struct Promise {
    std::string addresses;
    std::string device;    // its GID table has the addresses
    std::string in_pod;    // every command of this script succeeds in the pod
    std::string on_node{}; // the same on the node
    std::string leaves{};  // cleans up on the node what another plugin leaves after DEL
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
    {"default/node-only", {"192.168.131.1/24", "mlx5_0", ""}},
};

/// RDMA mode exclusive; the pod has the device.
const std::map<std::string, Promise> kExclusivePromises{
    {"vf-roce.conflist",
     {"192.168.140.2/24", "v0", "ip route get 10.140.0.1 | grep 'via 192.168.140.1 dev net1'",
      "ip link show eth1 | grep 'vf 0 .* vlan 100, qos 3,.* max_tx_rate 20000Mbps, spoof checking on.* trust off'"}},
    {"host-device.conflist", {"192.168.141.1/24 fd00:141::1/64", "mlx5_1", "", "! ip link show eth2"}},
    {"rdma-behind-host-device.conflist",
     {"192.168.142.10/24", "mlx5_1", "", "! ip link show eth2",
      "ip link set eth2 alias '' addrgenmode none && ip link set eth2 up"}},
    {"default/roce-vf", {"192.168.150.1/24 fd00:150::1/64", "v0", "", "ip link show eth1 | grep 'vf 0 .* vlan 100'"}},
    {"default/migrated-vf",
     {"192.168.160.16/24", "v0", "",
      "ip link show eth1 | grep 'vf 0 .* vlan 200, qos 5, spoof checking off.* trust on'"}},
};

/// delegate_test.cpp runs it.
const std::string kDhcp = "ipam-dhcp.conflist";

/// Needs a node with InfiniBand.
const std::string kIbChild = "ib-child.conflist";
const std::string kIbVf = "ib-vf.conflist";

/// The cases of the pods run these.
const std::set<std::string> kRunByPods{"default/ib-child", "default/ib-vf", "default/roce-sf"};
/// example_stores_test.cpp runs these.
const std::set<std::string> kNeedStores{"default/shared-pool", "default/shared-blocks"};

/// Whether it runs on a node with RoCE in RDMA mode shared, and needs nothing else.
bool needs_only_roce(const NetworkAttachmentDefinition& definition) {
    return !kExclusivePromises.contains(definition.key) && !kRunByPods.contains(definition.key) &&
           !kNeedStores.contains(definition.key);
}

bool runs_on_roce(const std::string& file) {
    return file != kDhcp && file != kIbChild && file != kIbVf && !kExclusivePromises.contains(file);
}

std::set<std::string> files_with(const std::set<std::string>& endings) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(source_path("conf-examples")))
        if (endings.contains(entry.path().extension())) names.insert(entry.path().filename());
    return names;
}

std::string text_of(const std::string& file) {
    return source_text(concat("conf-examples/", file));
}

/// Runs ADD, checks the promise, runs CHECK and DEL.
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

/// The caller names the device in runtimeConfig. For a network with a resource Multus writes it into the
/// configuration.
void run_exclusive(const Network& network, const Promise& promise, const std::string& vf, bool has_resource) {
    const Pod pod("pod");
    Attachment attachment{.netns = pod.path(), .capabilities = {{"deviceID", concat('"', vf, '"')}}};
    if (has_resource) attachment.device = vf;
    CHECK(network.status() == "");
    const std::string result = network.add(attachment);
    CHECK(addresses(result) == promise.addresses);
    CHECK(failure_of(pod, concat("rdma link | grep '", promise.device, "/1 .*netdev net1'\n", promise.in_pod)) == "");
    CHECK_THAT(shell("rdma link"), !Contains(concat(promise.device, "/1")));
    CHECK(addresses_without_gid(pod, result) == "");
    CHECK(succeeds(promise.on_node));
    CHECK(network.check(attachment, result) == "");
    CHECK(network.del(attachment, result) == "");
}

void run_exclusive_if_installed(const Network& network, const std::string& name, const ExclusiveExampleNode& node,
                                bool has_resource) {
    INFO(name);
    const Promise& promise = kExclusivePromises.at(name);
    if (!network.is_runnable()) return mark_skipped(concat("Debian's CNI plugins for ", name));
    run_exclusive(network, promise, node.vfs().front(), has_resource);
    CHECK(succeeds(promise.leaves));
    CHECK(node.difference() == "");
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

TEST_CASE("Multus names the devices of examples that move devices", "[examples]") {
    const auto count = [](const std::string& file, const std::string& pattern) {
        return shell(concat("grep -Eo '", pattern, "' ", file, " | wc -l"));
    };
    for (const auto& entry : fs::directory_iterator(source_path("conf-examples"))) {
        INFO(entry.path().string());
        CHECK(count(entry.path(), R"x("attach": "(sriov|host-device|rdma)")x") ==
              count(entry.path(), R"("CNIDeviceInfoFile": true)"));
    }
}

TEST_CASE("every example has a test and a line in the examples' README", "[examples]") {
    std::set<std::string> known{kDhcp, kIbChild, kIbVf};
    std::set<std::string> definitions = kRunByPods;
    definitions.insert(kNeedStores.begin(), kNeedStores.end());
    for (const auto* promises : {&kPromises, &kExclusivePromises})
        for (const auto& [name, promise] : *promises)
            (name.find('/') == std::string::npos ? known : definitions).insert(name);
    CHECK(files_with({".conflist", ".json"}) == known);
    std::set<std::string> defined;
    for (const auto& definition : example_manifests().networks) defined.insert(definition.key);
    CHECK(defined == definitions);

    std::set<std::string> listed{"README.md"};
    const std::string readme = text_of("README.md");
    for (std::size_t at = 0; (at = readme.find("\n| [", at)) != std::string::npos; at += 4) {
        const std::string name = readme.substr(at + 4, readme.find(']', at) - at - 4);
        CHECK(readme.compare(at + 4, 2 * name.size() + 3, concat(name, "](", name, ')')) == 0);
        listed.insert(name);
    }
    const std::set<std::string> files =
        files_with({".conflist", ".json", ".yaml", ".md", ".service", ".timer", ".conf", ".kubeconfig"});
    CHECK(files == listed);
    CHECK(files.size() == static_cast<std::size_t>(std::distance(fs::directory_iterator(source_path("conf-examples")),
                                                                 fs::directory_iterator())));
}

TEST_CASE("the example networks and pods keep their promises", "[examples]") {
    NEEDS(ExampleNode::lacks().empty(), ExampleNode::lacks());
    const ExampleNode node;
    const Manifests all = example_manifests();
    for (const std::string& file : files_with({".conflist", ".json"})) {
        if (runs_on_roce(file)) run_if_installed(Network(text_of(file)), file);
    }
    for (const auto& definition : all.networks) {
        const Network network(definition.config, definition.name);
        CHECK(network.name() == definition.name);
        if (needs_only_roce(definition)) run_if_installed(network, definition.key);
    }
    ExampleNode::forget_earlier();
    {
        const RunningPod server(all.pod("roce-server"), all);
        const RunningPod client(all.pod("roce-client"), all);
        const RunningPod chosen(all.pod("parameter-server"), all);
        const RunningPod worker(all.pod("worker-0"), all);
        CHECK(all.pods.size() == 4 + 2 + 1 + 3); // 2 with VFs, 1 sub-function, 3 on InfiniBand: other cases
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

TEST_CASE("the example networks and pods with a device for each pod keep their promises", "[examples][sriov][device]") {
    NEEDS(ExclusiveExampleNode::lacks().empty(), ExclusiveExampleNode::lacks());
    const ExclusiveExampleNode node;
    const Manifests all = example_manifests();
    for (const std::string& file : files_with({".conflist", ".json"}))
        if (kExclusivePromises.contains(file)) run_exclusive_if_installed(Network(text_of(file)), file, node, false);
    for (const auto& definition : all.networks)
        if (kExclusivePromises.contains(definition.key))
            run_exclusive_if_installed(Network(definition.config, definition.name), definition.key, node,
                                       !definition.resource.empty());
    ExampleNode::forget_earlier();
    { // Each pod sees only its own RDMA device.
        const RunningPod one(all.pod("trainer-0"), all, {node.vfs().at(2)});
        const RunningPod two(all.pod("trainer-1"), all, {node.vfs().at(0), node.vfs().at(3)});
        CHECK(addresses(one.result(0)) == "192.168.150.1/24 fd00:150::1/64");
        CHECK(addresses(two.result(0)) == "192.168.150.2/24 fd00:150::2/64");
        CHECK(addresses(two.result(1)) == "192.168.160.16/24");
        CHECK(failure_of(one.pod(), "[ $(ls /sys/class/infiniband | wc -l) = 1 ]\n"
                                    "ping -c 1 -W 10 192.168.150.2 && ping -c 1 -W 10 fd00:150::2") == "");
        CHECK(failure_of(two.pod(), "[ $(ls /sys/class/infiniband | wc -l) = 2 ]") == "");
        for (const RunningPod* pod : {&one, &two}) {
            CHECK(pod->check() == "");
            CHECK(pod->del() == "");
        }
    }
    CHECK(node.difference() == "");
}

TEST_CASE("the example networks and pods of InfiniBand keep their promises", "[examples][infiniband]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const Installed installed;
    const Manifests all = example_manifests();
    {
        const InfinibandNode infiniband;
        shell(concat("ip link property add dev ", infiniband.parent(0), " altname ibs1"));
        const UnchangedNode node;
        const std::string in_partition = "ip -d link show net1 | grep 'ipoib pkey 0x8001'";
        run(Network(text_of(kIbChild)), {"192.168.170.1/24", "", in_partition});
        {
            const RunningPod worker(all.pod("ib-worker"), all);
            CHECK(addresses(worker.result(0)) == "192.168.172.1/24");
            CHECK(failure_of(worker.pod(), in_partition) == "");
            CHECK(worker.check() == "");
            CHECK(worker.del() == "");
        }
        CHECK(node.difference() == "");
    }
    const InfinibandNode infiniband("exclusive");
    infiniband.make_vfs(2);
    const UnchangedNode node(Numbers::ignored); // binding a driver gives new numbers
    {
        const Pod pod("pod");
        const Attachment attachment{.netns = pod.path(),
                                    .capabilities = {{"deviceID", concat('"', InfinibandNode::vf(0), '"')},
                                                     {"infinibandGUID", "\"02:00:00:00:00:00:00:99\""}}};
        const Network network(text_of(kIbVf));
        CHECK(network.status() == "");
        const std::string result = network.add(attachment);
        CHECK(addresses(result) == "192.168.171.1/24");
        CHECK(failure_of(pod, "rdma link | grep 'ib0p0v0/1'\nrdma dev | grep 0200:0000:0000:0099") == "");
        CHECK(network.check(attachment, result) == "");
        CHECK(network.del(attachment, result) == "");

        const RunningPod one(all.pod("solver-0"), all, {InfinibandNode::vf(1)});
        const RunningPod two(all.pod("solver-1"), all, {InfinibandNode::vf(0)});
        CHECK(addresses(two.result(0)) == "192.168.173.2/24");
        CHECK(failure_of(one.pod(), "rdma dev | grep 'ib0p0v1: .*node_guid 0200:0000:0000:1730'") == "");
        CHECK(failure_of(two.pod(),
                         "rdma dev | grep 'ib0p0v0: .*node_guid 0200:0000:0000:1731'\n"
                         "for try in $(seq 10); do ping -c 1 -W 1 192.168.173.1 && exit; done; false") == "");
        for (const RunningPod* solver : {&one, &two}) {
            CHECK(solver->check() == "");
            CHECK(solver->del() == "");
        }
    }
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
