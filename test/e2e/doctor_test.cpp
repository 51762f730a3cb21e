// `rdmanet doctor`: every check is provoked on a real kernel, and is silent before. Faults of hardware that the
// software NIC cannot have are in the unit tests of module doctor.
#include "doctor_provocation.hpp"
#include "documented.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <iterator>
#include <set>
#include <sstream>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// Checks in other files of tests, or in the unit tests of module doctor.
constexpr const char* kTriedElsewhere =
    "acs address-ranges any-network api-access bonds buffers child-modules copy-on-fork default-roce definitions "
    "denials device-plugins device-users driver-container ecn enable-roce eswitch iommu kernel-version lanes "
    "leases lost-vf module-dir module-signatures modules-at-boot neighbours network-service networks "
    "node-name pause pcie-link peer-memory pfc pod-addresses pod-found pod-gid-index pod-ipoib "
    "pod-management-files pod-route presence protocols rdma-devices rdma-driver stack-origin stale-modules "
    "storm strays subnets taints traffic-class trust vf-count vf-macs vf-mtu vf-room vfs";

constexpr const char* kCheckpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
constexpr const char* kMultus = "/etc/cni/net.d/multus.d/multus.kubeconfig";

/// Writes what the kubelet remembers: a registered resource, and the pod that it gave the device to.
std::string give_device(const std::string& device, const std::string& uid) {
    return concat("echo '",
                  json_text(concat("{'Data':{'PodDeviceEntries':[{'PodUID':'", uid,
                                   "','ContainerName':'c','ResourceName':'example.com/vf','DeviceIDs':{'-1':['", device,
                                   "']},'AllocResp':''}],'RegisteredDevices':{'example.com/vf':['", device,
                                   "']}},'Checksum':1}")),
                  "' >", kCheckpoint);
}

/// Writes a kubeconfig of Multus with a token that expires then, in seconds of the epoch.
std::string give_token(const std::string& expiry) {
    return concat("payload=$(printf '{\"exp\":", expiry, "}' | base64 | tr '+/' '-_' | tr -d '=\\n'); ",
                  "printf 'users:\\n- user:\\n    token: \"e30.%s.x\"\\n' $payload >", kMultus);
}

std::string fill_gids(const std::string& where, const std::string& interface) {
    return concat("seq -f 'addr add 10.74.0.%g/24 dev ", interface, "' 127 | ip ", where, " -batch -");
}

} // namespace

TEST_CASE("every check of the doctor fires when it should, and only then", "[doctor][sriov]") {
    const Vfs vfs;
    const std::string other = rdma_parent(1);
    NEEDS(!other.empty(), "a second RDMA parent");
    const std::string address = shell(concat("echo -n $(basename $(readlink -f /sys/class/net/", other, "/device))"));
    const Pod pod("pod");
    PluginCall call = vf_call(vfs, pod, 0, ipam("10.73.0.0/24"));
    call.args = "K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till;K8S_POD_UID=uid-1";
    (void)add(call);
    shell(concat("echo 'options ib_core netns_mode=0' >/etc/modprobe.d/doctor.conf; cp ", binary(),
                 " /usr/lib/cni/rdmanet; ip link set ", vfs.pf(), " mtu 4200; ip link set ", other,
                 " mtu 4200 up; ip link set ", vfs.netdev(1), " mtu 4200; ip -n pod link set net1 mtu 4200; for i in ",
                 vfs.pf(), ' ', other, "; do dcb pfc set dev $i prio-pfc 3:on; done"));

    shell(concat("mkdir -p $(dirname ", kCheckpoint, ") $(dirname ", kMultus, "); ", give_device(vfs.vf(0), "uid-1"),
                 "; ", give_token("4102444800"), "; echo '{\"type\":\"multus\"}' >/etc/cni/net.d/10-multus.conf"));

    shell(concat("rm /etc/modprobe.d/doctor.conf; echo 0 >", debugfs(other), "/cable"));
    wait_until(concat("ip link show ", other, " | grep -q NO-CARRIER"));
    const std::string shown = doctor();
    const std::vector<std::string> documented = lines_of(read_markdown("docs/doctor.md").blocks.at(0).text);
    CHECK(documented.size() == 5);
    for (std::size_t line = 0; line + 1 < documented.size(); ++line) CHECK_THAT(shown, Contains(documented[line]));
    CHECK_THAT(shown, Contains(documented.at(4).substr(0, documented.at(4).find(','))));
    shell(
        concat("echo 'options ib_core netns_mode=0' >/etc/modprobe.d/doctor.conf; echo 1 >", debugfs(other), "/cable"));
    wait_until(concat("! ip link show ", other, " | grep -q NO-CARRIER"));

    std::set<std::string> tried;
    const std::string rebind_vf =
        concat("cd /sys/bus/pci/drivers/simrnic; echo ", vfs.vf(1), " >unbind; echo ", vfs.vf(1), " >bind");
    try_all({{"driver",
              "a NIC is unbound from its driver",
              concat("echo ", address, " >/sys/bus/pci/drivers/simrnic/unbind"),
              concat("echo ", address, " >/sys/bus/pci/drivers/simrnic/bind; ip link set ", other, " mtu 4200 up"),
              {address, "has no driver"}},
             {"core-modules",
              "`rmmod rdma_ucm`",
              "rmmod rdma_ucm",
              "modprobe rdma_ucm",
              {"rdma_ucm is not loaded", "`modprobe rdma_ucm`"}},
             {"mode-at-boot",
              "mode exclusive without a line in /etc/modprobe.d",
              "rm /etc/modprobe.d/doctor.conf",
              "echo 'options ib_core netns_mode=0' >/etc/modprobe.d/doctor.conf",
              {"exclusive now", "shared after the next boot", "/etc/modprobe.d"}},
             {"apart",
              "only the net device of a VF moves to a pod",
              concat("ip link set ", vfs.netdev(1), " netns pod"),
              concat("ip -n pod link set ", vfs.netdev(1), " netns 1"),
              {vfs.vf(1), "is in shop/till", vfs.rdma(1), "is on the host", "delete the pod"}},
             {"node-guid",
              "a VF without a node GUID",
              concat("echo 1 >", debugfs(vfs.pf()), "/vf_no_guid; ", rebind_vf),
              concat("echo 0 >", debugfs(vfs.pf()), "/vf_no_guid; ", rebind_vf),
              {vfs.rdma(1), "no node GUID", "bind its driver again"}},
             {"port-state",
              "the cable is unplugged",
              concat("echo 0 >", debugfs(other), "/cable"),
              concat("echo 1 >", debugfs(other), "/cable"),
              {address, "is down", "it has no link", "cable"}},
             {"gid-table",
              "254 more addresses on a parent",
              fill_gids("", other),
              concat("ip addr flush dev ", other, " scope global"),
              {address, "256 of 256 entries", "linkLocalGids"}},
             {"device-files",
              "/dev/infiniband is renamed",
              "mv /dev/infiniband /dev/away",
              "mv /dev/away /dev/infiniband",
              {"/dev/infiniband/uverbs", "is missing", "udev"}},
             {"parent-up",
              "`ip link set rnic1p0 down`",
              concat("ip link set ", other, " down"),
              concat("ip link set ", other, " up"),
              {other, "is down", concat("`ip link set ", other, " up`")}},
             {"mtu",
              "`ip link set rnic1p0 mtu 1500`",
              concat("ip link set ", other, " mtu 1500"),
              concat("ip link set ", other, " mtu 4200"),
              {"info", other, "MTU 1500", "1024 bytes"}},
             {"rails",
              "two NICs get addresses in one subnet",
              concat("ip addr add 10.75.0.1/24 dev ", vfs.pf(), "; ip addr add 10.75.0.2/24 dev ", other),
              concat("ip addr del 10.75.0.1/24 dev ", vfs.pf(), "; ip addr del 10.75.0.2/24 dev ", other),
              {other, vfs.pf(), "10.75.0.0/24", "arp_ignore"}},
             {"plugin",
              "the plugin is removed from a node with pods",
              "rm /usr/lib/cni/rdmanet",
              concat("cp ", binary(), " /usr/lib/cni/rdmanet"),
              {"no plugin directory", "/usr/lib/cni"}},
             {"plugin",
              "the plugin loses its permission to execute",
              "chmod 644 /usr/lib/cni/rdmanet",
              "chmod 755 /usr/lib/cni/rdmanet",
              {"not executable", "`chmod 755 /usr/lib/cni/rdmanet`"}},
             {"memlock",
              "a process called containerd with a limit",
              "cp -n /bin/sleep /tmp/containerd; prlimit --memlock=65536 /tmp/containerd 1000 >/dev/null 2>&1 &",
              end_of("/tmp/containerd"),
              {"containerd", "65536 bytes", "LimitMEMLOCK"}},
             {"attachments",
              "an address is removed in the pod",
              "ip -n pod addr del 10.73.0.1/24 dev net1",
              "ip -n pod addr add 10.73.0.1/24 brd + dev net1",
              {"shop/till", "10.73.0.1", "`rdmanet check`"}},
             {"resources",
              "the kubelet has no resource",
              concat("echo '{\"Data\":{}}' >", kCheckpoint),
              give_device(vfs.vf(0), "uid-1"),
              {"no device plugin", "tolerations"}},
             {"allocations",
              "the kubelet gave the device of a pod to another pod",
              give_device(vfs.vf(0), "uid-2"),
              give_device(vfs.vf(0), "uid-1"),
              {vfs.vf(0), "shop/till", "UID uid-2", "deviceID"}},
             {"multus",
              "a configuration sorts before that of Multus",
              "echo '{\"type\":\"bridge\"}' >/etc/cni/net.d/05-bridge.conf",
              "rm /etc/cni/net.d/05-bridge.conf",
              {"05-bridge.conf", "10-multus.conf", "no secondary networks"}},
             {"tokens",
              "a token that has expired",
              give_token("1700000000"),
              give_token("4102444800"),
              {kMultus, "Unauthorized", "restart the pod of Multus"}}},
            "", tried);

    const std::string in_image = "unshare -m sh -c 'mount -t tmpfs none $1; shift; exec \"$@\"' _ ";
    try_all({{"pod-interface",
              "the interface is set down in the pod",
              "ip -n pod link set net1 down",
              "ip -n pod link set net1 up",
              {"shop/till net1", "is down"}},
             {"pod-rdma",
              "a macvlan child in mode exclusive",
              concat("ip link add link ", other,
                     " name data0 netns pod type macvlan mode bridge; ip -n pod link set data0 up"),
              "ip -n pod link delete data0",
              {"shop/till data0", rdma_device_of(other), "in mode exclusive the pod cannot see it"}},
             {"pod-gids",
              "the GID table is full",
              fill_gids("-n pod", "net1"),
              "ip -n pod addr flush dev net1 to 10.74.0.0/24",
              {"shop/till net1", "has no GID of RoCE v2"}},
             {"pod-device-files",
              "an image with an empty /dev/infiniband",
              in_background(pod, concat(in_image, "/dev/infiniband"), "/tmp/tenant1"),
              end_of("/tmp/tenant1"),
              {"shop/till net1", "no container of the pod has /dev/infiniband/uverbs", "\"resources\""}},
             {"pod-memlock",
              "a process with a limit, not as root",
              in_background(pod, "setpriv --reuid 65534 --clear-groups prlimit --memlock=65536", "/tmp/tenant2"),
              end_of("/tmp/tenant2"),
              {"tenant2", "65536 bytes", "IPC_LOCK"}},
             {"pod-provider",
              "an image without provider libraries",
              in_background(pod, concat(in_image, "/usr/lib/x86_64-linux-gnu/libibverbs"), "/tmp/tenant3"),
              end_of("/tmp/tenant3"),
              {"tenant3", "libibverbs without a provider", "ibverbs-providers"}},
             {"pod-shm",
              "a small /dev/shm",
              in_background(pod, "unshare -m sh -c 'mount -t tmpfs -o size=64m none /dev/shm; exec \"$@\"' _",
                            "/tmp/tenant4"),
              end_of("/tmp/tenant4"),
              {"tenant4", "64 MiB or less"}}},
            "--pod shop/till", tried);
    CHECK_THAT(doctor("--pod shop/till"), Contains(" 0 failures"));

    const std::vector<Provocation> last{
        {"kernel-log",
         "1,000 messages of irdma within ten minutes",
         "for i in $(seq 1 1000); do echo '<6>irdma 0000:3b:00.0: a test' >/dev/kmsg; done",
         "dmesg --clear",
         {"1000 messages of irdma", "`dmesg | grep irdma`"}},
        {"duplicate-guid",
         "a VF has the MAC of another",
         concat("ip link set ", vfs.pf(), " vf 1 mac $(ip -n pod -j link show net1 | jq -r '.[0].address'); ",
                rebind_vf),
         concat("ip link set ", vfs.pf(), " vf 1 mac 02:00:00:00:00:99; ", rebind_vf),
         {"the same node GUID", vfs.rdma(1)}},
        {"records",
         "a pod ends without DEL",
         "ip netns delete pod",
         concat(binary(), " gc; ip netns add pod"),
         {"1 attachment is still recorded", "`rdmanet gc`"}}};
    try_all(last, "", tried);

    std::istringstream elsewhere(kTriedElsewhere);
    std::set<std::string> all{std::istream_iterator<std::string>(elsewhere), {}};
    all.insert(tried.begin(), tried.end());
    std::set<std::string> known;
    for (const std::string& check : lines_of(
             shell(concat("{ ", binary(), " doctor --pod /run/netns/pod --json || true; } | jq -r '.checks[].check'"))))
        known.insert(check);
    CHECK(known == all);
    shell("rm -r /etc/modprobe.d/doctor.conf /usr/lib/cni/rdmanet /var/lib/kubelet /etc/cni/net.d/10-multus.conf "
          "/etc/cni/net.d/multus.d");
}

TEST_CASE("the doctor changes nothing, and its exit status is that of the worst finding", "[doctor][sriov]") {
    const VfStage stage;
    const auto status = [&](const std::string& options) {
        return shell(concat(binary(), " doctor ", options, " >/dev/null 2>&1; echo -n $?"));
    };
    CHECK(status("") == "1"); // the plugin is not installed
    shell(concat("ip link set ", stage.vfs.netdev(1), " netns pod"));
    CHECK(status("") == "2");
    stage.pod.run(concat("ip link set ", stage.vfs.netdev(1), " netns 1"));
    CHECK(status("--pod nobody/nowhere") == "2");
    CHECK(status("--pod nowhere") == "3");
    CHECK(status("--no-such-option") == "3");
    CHECK(status("--kubeconfig /no/such/file") == "3");
    CHECK(status("argument") == "3");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("the doctor explains the texts of errors", "[doctor]") {
    const auto explain = [](const std::string& text) {
        return shell(concat(binary(), " doctor explain '", text, '\''));
    };
    CHECK_THAT(explain("Failed to modify QP 17 to RTR"), Contains("GID index") && Contains("pod-gids"));
    CHECK(explain("Failed to modify QP to RTR") == read_markdown("docs/doctor.md").blocks.at(1).text);
    CHECK_THAT(explain("ibv_reg_mr(): Cannot allocate memory"), Contains("IPC_LOCK"));
    CHECK_THAT(explain("IB device mlx5_3 not found"), Contains("uverbs"));
    CHECK(succeeds(concat("! ", binary(), " doctor explain 'all is well'")));
}

} // namespace rdmanet::test
