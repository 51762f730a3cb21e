// Which device is meant, and the keys of other kinds than macvlan and ipvlan.
#include "bad_input.hpp"

namespace rdmanet::test {
namespace {

Row attach(const std::string& kind, const char* name, const std::string& members, int code, const char* message) {
    return {name, {member(concat("'master':null,'attach':'", kind, "',", members))}, code, message};
}
Row sriov(const char* name, const std::string& members, int code, const char* message) {
    return attach("sriov", name, members, code, message);
}
Row host_device(const char* name, const std::string& members, int code, const char* message) {
    return attach("host-device", name, members, code, message);
}
Row rdma_only(const char* name, const std::string& members, int code, const char* message) {
    return attach("rdma", name, concat("'ipam':null,", members), code, message);
}
Row ipoib(const char* name, const std::string& members, int code, const char* message) {
    return attach("ipoib", name, concat("'master':'par0',", members), code, message);
}

Table names_of_vfs() {
    constexpr const char* expected = "deviceID: expected the PCI address of a VF, like \"0000:3b:00.2\", found ";
    return {"names of VFs",
            {
                sriov("none", "'deviceID':null", 7,
                      "deviceID is missing: the network needs a VF for each pod; give the NetworkAttachmentDefinition "
                      "the annotation"),
                sriov("empty", "'deviceID':''", 7, "deviceID is missing"),
                sriov("a number", "'deviceID':3", 7, "deviceID: expected a string, found 3"),
                sriov("an array", "'deviceID':['0000:3b:00.2']", 7, "deviceID: expected a string, found an array"),
                sriov("without domain", "'deviceID':'3b:00.2'", 7, expected),
                sriov("without function", "'deviceID':'0000:3b:00'", 7, expected),
                sriov("function 8", "'deviceID':'0000:3b:00.8'", 7, expected),
                sriov("device 20", "'deviceID':'0000:3b:20.0'", 7, expected),
                sriov("with a blank", "'deviceID':' 0000:3b:00.2'", 7, expected),
                sriov("with more behind it", "'deviceID':'0000:3b:00.2/../0000:00:00.0'", 7, expected),
                sriov("the way out of sysfs", "'deviceID':'../../../etc'", 7, expected),
                sriov("an interface", "'deviceID':'par0'", 7, expected),
                sriov("an auxiliary device", "'deviceID':'mlx5_core.sf.4'", 7, expected),
                sriov("two of them", "'deviceID':'0000:3b:00.2,0000:3b:00.3'", 7, expected),
                sriov("pciBusID", "'pciBusID':'x'", 7, "pciBusID: expected the PCI address of a VF"),
                sriov("pciBusID, a boolean", "'pciBusID':true", 7, "pciBusID: expected a string, found true"),
                sriov("the runtime's first", "'deviceID':'ffff:ff:1f.7','runtimeConfig':{'deviceID':'x'}", 7,
                      "runtimeConfig.deviceID: expected the PCI address of a VF"),
                sriov("the runtime's, a number", "'runtimeConfig':{'deviceID':0}", 7,
                      "runtimeConfig.deviceID: expected a string, found 0"),
                sriov("not on this node", "'deviceID':'ffff:ff:1f.7'", 102,
                      "device ffff:ff:1f.7 does not exist on this node: `lspci -D` lists those that do"),
                sriov("in capital letters", "'deviceID':'FFFF:FF:1F.7'", 102,
                      "device ffff:ff:1f.7 does not exist on this node"),
                {"STATUS is about the node",
                 {command("STATUS"), member("'master':null,'attach':'sriov','deviceID':null")},
                 0,
                 ""},
                {"without \"attach\", a VF's key", {member("'master':null,'spoofchk':'on'")}, 7, "deviceID is missing"},
                {"without \"attach\", a device",
                 {member("'master':null,'deviceID':'ffff:ff:1f.7'")},
                 102,
                 "device ffff:ff:1f.7 does not exist on this node"},
            }};
}

Table device_info_files() {
    constexpr const char* expected =
        "runtimeConfig.CNIDeviceInfoFile: expected a file in /var/run/k8s.cni.cncf.io/devinfo/cni/, as Multus sets it: "
        "remove the key, found ";
    const auto file = [&](const char* name, const std::string& value, const char* message) {
        return sriov(name, concat("'deviceID':'ffff:ff:1f.7','runtimeConfig':{'CNIDeviceInfoFile':", value, '}'), 7,
                     message);
    };
    return {
        "device-info files",
        {
            file("a number", "1", "runtimeConfig.CNIDeviceInfoFile: expected a string, found 1"),
            file("elsewhere", "'/etc/shadow'", expected),
            file("the directory itself", "'/run/k8s.cni.cncf.io/devinfo/cni/'", expected),
            file("the directory itself, dotted", "'/run/k8s.cni.cncf.io/devinfo/cni/.'", expected),
            file("the directory above", "'/run/k8s.cni.cncf.io/devinfo/cni/..'", expected),
            file("the device plugin's", "'/run/k8s.cni.cncf.io/devinfo/dp/a-c1_net1'", expected),
            file("out of it", "'/var/run/k8s.cni.cncf.io/devinfo/cni/../../../etc/cron.d/x'", expected),
            file("beside it", "'/run/k8s.cni.cncf.io/devinfo-x/y'", expected),
            file("below it", "'/run/k8s.cni.cncf.io/devinfo/cni/a/b-c1_net1'", expected),
            file("of another pod", "'/run/k8s.cni.cncf.io/devinfo/cni/default-net-c2_net1'",
                 "runtimeConfig.CNIDeviceInfoFile: \"/run/k8s.cni.cncf.io/devinfo/cni/default-net-c2_net1\" is not "
                 "this pod's"),
            file("of another interface", "'/run/k8s.cni.cncf.io/devinfo/cni/default-net-c1_net2'",
                 "runtimeConfig.CNIDeviceInfoFile: \"/run/k8s.cni.cncf.io/devinfo/cni/default-net-c1_net2\" is not "
                 "this pod's"),
            file("of no network", "'/run/k8s.cni.cncf.io/devinfo/cni/-c1_net1'",
                 "runtimeConfig.CNIDeviceInfoFile: \"/run/k8s.cni.cncf.io/devinfo/cni/-c1_net1\" is not this pod's"),
            file("relative", "'k8s.cni.cncf.io/devinfo/x'", expected),
            file("with a line break", "'/run/k8s.cni.cncf.io/devinfo/cni/x\\n-c1_net1'", expected),
            file("with a zero", "'/run/k8s.cni.cncf.io/devinfo/cni/x\\u0000-c1_net1'", expected),
        }};
}

Table host_devices() {
    return {
        "whole functions",
        {
            host_device("no name", "'device':null", 7,
                        "no device is named: set \"device\", \"hwaddr\", \"kernelpath\" or \"deviceID\""),
            host_device("an empty name", "'device':''", 7, "no device is named"),
            host_device("device, a number", "'device':0", 7, "device: expected a string, found 0"),
            host_device("device, absent", "'device':'eth99'", 102,
                        "device \"eth99\" is no interface of the host: set \"device\" to one that `ip link` shows"),
            host_device("device, no name", "'device':'../eth0'", 102, "device \"../eth0\" is no interface of the host"),
            host_device("device, 256 KiB", concat("'device':'", std::string(std::size_t{1} << 18U, 'x'), '\''), 102,
                        "device \"xxx"),
            host_device("RDMA of a virtual interface", "'device':'par0','rdma':true", 103,
                        "interface \"par0\" is virtual (veth) and has no RDMA device"),
            host_device("device, the loopback", "'device':'lo'", 102,
                        "interface \"lo\" is of no PCI or auxiliary device"),
            host_device("hwaddr, a number", "'hwaddr':1", 7, "hwaddr: expected a string, found 1"),
            host_device("hwaddr, none", "'hwaddr':'02:00:00:00:00'", 7,
                        "hwaddr: expected a MAC address like \"02:00:00:00:00:01\", found \"02:00:00:00:00\""),
            host_device("hwaddr, nobody's", "'hwaddr':'02:00:00:00:99:99'", 102,
                        "no interface of the host has hwaddr 02:00:00:00:99:99"),
            host_device("kernelpath, a boolean", "'kernelpath':true", 7, "kernelpath: expected a string, found true"),
            host_device("kernelpath, no device's", "'kernelpath':'/sys/class/net'", 7,
                        "kernelpath: expected the directory of a PCI or auxiliary device below /sys/devices/"),
            host_device("kernelpath, with a slash behind it", "'kernelpath':'/sys/devices/0000:3b:00.0/'", 7, ""),
            host_device("kernelpath, absent", "'kernelpath':'/sys/devices/pci0000:00/ffff:ff:1f.7'", 102,
                        "device ffff:ff:1f.7 does not exist on this node"),
            host_device("deviceID, a path", "'deviceID':'/sys/bus/pci/devices/0000:3b:00.0'", 7,
                        "deviceID: expected a PCI address like"),
            host_device("deviceID, an auxiliary device that is absent", "'deviceID':'mlx5_core.sf.4711'", 102,
                        "device mlx5_core.sf.4711 does not exist on this node"),
            host_device("deviceID, an auxiliary device without a number", "'deviceID':'mlx5_core.sf'", 7,
                        "deviceID: expected a PCI address like"),
            host_device("vlan", "'device':'eth9','vlan':100", 2,
                        "vlan: 100 is a key of VFs, this is host-device: remove it, or set \"attach\": \"sriov\""),
            host_device("spoofchk", "'device':'eth9','spoofchk':'on'", 2,
                        "spoofchk: \"on\" is a key of VFs, this is host-device"),
            host_device("link_state", "'device':'eth9','link_state':'auto'", 2,
                        "link_state: \"auto\" is a key of VFs, this is host-device"),
            host_device("max_tx_rate", "'device':'eth9','max_tx_rate':100", 2,
                        "max_tx_rate: 100 is a key of VFs, this is host-device"),
            host_device("guid", "'device':'eth9','guid':'02:00:00:00:00:00:00:01'", 2,
                        "guid: \"02:00:00:00:00:00:00:01\" is a key of VFs, this is host-device"),
            host_device("pkey", "'device':'eth9','pkey':'0x8001'", 2,
                        "pkey: \"0x8001\" is a key of ipoib, this is host-device: remove it"),
            host_device("master", "'device':'eth9','master':'par0'", 2,
                        "master: \"par0\" is a key of children of an interface, this is host-device"),
            {"without \"attach\", that plugin's key",
             {member("'master':null,'device':'eth99','trust':'on'")},
             2,
             "trust: \"on\" is a key of VFs, this is host-device"},
        }};
}

Table rdma_devices() {
    return {
        "RDMA devices alone",
        {
            rdma_only("behind nothing", "'dns':{}", 7,
                      "prevResult is missing: \"attach\": \"rdma\" comes behind the plugin that makes the interface"),
            rdma_only("mtu", "'mtu':1400", 2,
                      "mtu: 1400 is for an interface, which the plugin before this one makes: remove it"),
            rdma_only("mac", "'mac':'02:00:00:00:00:01'", 2, "mac: \"02:00:00:00:00:01\" is for an interface"),
            rdma_only("ipam", "'ipam':{'type':'rdmanet','range':'10.70.0.0/24'}", 2, "ipam: {"),
            rdma_only("duplicateAddressDetection", "'duplicateAddressDetection':'probe'", 2,
                      "duplicateAddressDetection: \"probe\" is for an interface"),
            rdma_only("defaultRoute", "'defaultRoute':'always'", 2, "defaultRoute: \"always\" is for an interface"),
            rdma_only("master", "'master':'par0'", 2,
                      "master: \"par0\" is a key of children of an interface, this is rdma: remove it"),
            rdma_only("vlan", "'vlan':100", 2, "vlan: 100 is a key of VFs, this is rdma"),
            rdma_only("reset", "'reset':true", 2,
                      "reset: true is for a device whose interface goes with it, this is rdma: remove it"),
            rdma_only("guid", "'guid':'02:00:00:00:00:00:00:01'", 2,
                      "guid: \"02:00:00:00:00:00:00:01\" is a key of VFs, this is rdma"),
            rdma_only("pkey", "'pkey':32769", 2, "pkey: 32769 is a key of ipoib, this is rdma: remove it"),
            rdma_only("device", "'device':'par0'", 2,
                      "device: \"par0\" is a key of host-device, this is rdma: remove it, the RDMA device follows the "
                      "interface"),
            rdma_only("kernelpath", "'kernelpath':'/sys/devices/0000:3b:00.0'", 2,
                      "kernelpath: \"/sys/devices/0000:3b:00.0\" is a key of host-device, this is rdma"),
            rdma_only(
                "rdma, false", "'rdma':false", 7,
                "rdma: expected true or mode \"exclusive\", as \"attach\": \"rdma\" moves RDMA devices, found false"),
            rdma_only("rdma.mode, shared", "'rdma':{'mode':'shared'}", 7,
                      "rdma: expected true or mode \"exclusive\", as \"attach\": \"rdma\" moves"),
            rdma_only("rdma.isolation, false", "'rdma':{'isolation':false}", 7,
                      "rdma: expected true or mode \"exclusive\", as \"attach\": \"rdma\" moves"),
            rdma_only("rdmaIsolation, false", "'rdmaIsolation':false", 7,
                      "rdmaIsolation: expected true, as \"attach\": \"rdma\" moves RDMA devices, found false"),
            rdma_only("rdma.device, an array", "'rdma':{'device':[0]}", 7,
                      "rdma.device: expected a whole number from 0 to 63, found an array"),
            rdma_only("rdma.device, negative", "'rdma':{'device':-1}", 7,
                      "rdma.device: expected a whole number from 0 to 63, found -1"),
            rdma_only("rdma.device, 64 letters", concat("'rdma':{'device':'", std::string(64, 'x'), "'}"), 7,
                      "rdma.device: expected a number from 0, or a name of an RDMA device, in which * and ? stand"),
            rdma_only("rdma.device, shared", "'rdma':{'device':0,'mode':'shared'}", 7,
                      "rdma.device: expected no key, as \"rdma\" says that RDMA devices stay on the host, found 0"),
            rdma_only("rdma.linkLocalGids", "'rdma':{'linkLocalGids':false}", 2,
                      "rdma.linkLocalGids: false is for an Ethernet interface that this plugin sets up, this is rdma"),
            rdma_only("rdma.maxGids", "'rdma':{'maxGids':8}", 2,
                      "rdma.maxGids: 8 is for pods that share the GID table of an Ethernet parent, this is rdma"),
            rdma_only("rdma.name, a number", "'rdma':{'name':0}", 7, "rdma.name: expected a string, found 0"),
            rdma_only("rdma.name, empty", "'rdma':{'name':''}", 7, "rdma.name: expected up to 63 letters, digits and"),
            rdma_only("rdma.name, a path", "'rdma':{'name':'../x'}", 7, "rdma.name: expected up to 63 letters"),
            rdma_only("rdma.name, two", "'rdma':{'name':'a,b'}", 7, "rdma.name: expected up to 63 letters"),
            rdma_only("rdma.name, 64 letters", concat("'rdma':{'name':'", std::string(64, 'x'), "'}"), 7,
                      "rdma.name: expected up to 63 letters"),
            {"rdma.device, of a child",
             {member("'rdma':{'device':0}")},
             2,
             "rdma.device: 0 is for an RDMA device that goes into the pod, this is macvlan: remove it"},
            rdma_only("deviceID, an interface", "'deviceID':'par0'", 7, "deviceID: expected a PCI address like"),
        }};
}

Table partitions() {
    constexpr const char* expected = "pkey: expected a partition key from 0x0001 to 0xffff, not 0x8000, found ";
    return {"IPoIB children",
            {
                ipoib("pkey, a boolean", "'pkey':true", 7, "pkey: expected a whole number from 0 to 65535, found true"),
                ipoib("pkey, negative", "'pkey':-1", 7, "pkey: expected a whole number from 0 to 65535, found -1"),
                ipoib("pkey, beyond 16 bits", "'pkey':65536", 7,
                      "pkey: expected a whole number from 0 to 65535, found 65536"),
                ipoib("pkey, zero", "'pkey':0", 7, expected),
                ipoib("pkey, only the membership", "'pkey':32768", 7, expected),
                ipoib("pkey, only the membership, in words", "'pkey':'0x8000'", 7, expected),
                ipoib("pkey, only the prefix", "'pkey':'0x'", 7, expected),
                ipoib("pkey, hexadecimal without prefix", "'pkey':'8fff'", 7, expected),
                ipoib("pkey, five digits", "'pkey':'0x18001'", 7, expected),
                ipoib("pkey, with a sign", "'pkey':'0x-1'", 7, expected),
                ipoib("pkey, a fraction", "'pkey':1.5", 7, "pkey: expected a whole number from 0 to 65535, found 1.5"),
                ipoib("mode of macvlan", "'mode':'bridge'", 7,
                      "mode: expected one of \"datagram\" \"connected\", found \"bridge\""),
                ipoib("mac", "'mac':'02:00:00:00:00:01'", 2,
                      "mac: \"02:00:00:00:00:01\" can't be set, an IPoIB child has its port's GUID: remove it"),
                ipoib("flag", "'flag':'vepa'", 2,
                      "flag: \"vepa\" is a key of macvlan and ipvlan, this is ipoib: remove it"),
                ipoib("bcqueuelen", "'bcqueuelen':1", 2,
                      "bcqueuelen: 1 is a key of macvlan and ipvlan, this is ipoib: remove it"),
                ipoib("a parent that is none", "'pkey':1", 102, "parent \"par0\" is no IPoIB interface"),
                ipoib("exclusive", "'rdma':{'mode':'exclusive'}", 2,
                      "rdma: a child of an interface shares its parent's RDMA device"),
                {"pkey of an ipvlan",
                 {member("'attach':'ipvlan','pkey':'0x8001'")},
                 2,
                 "pkey: \"0x8001\" is a key of ipoib, this is ipvlan: remove it, or set \"attach\": \"ipoib\""},
            }};
}

Table keys_of_vfs_elsewhere() {
    const auto said = [](const char* name, const char* members, const char* message) {
        return Row{name, {command("STATUS"), member(members)}, 0, message};
    };
    return {
        "keys of VFs and devices, without one",
        {
            said("vlanQoS", "'vlanQoS':3", "warning vlanQoS: ignored, it is for a VF (\"attach\": \"sriov\")"),
            said("spoofchk", "'spoofchk':'on'", "warning spoofchk: ignored, it is for a VF (\"attach\": \"sriov\")"),
            said("max_tx_rate", "'attach':'ipvlan','max_tx_rate':'x'", "warning max_tx_rate: ignored, it is for a VF"),
            said("guid", "'guid':'x'", "warning guid: ignored, it is for an InfiniBand VF (\"attach\": \"sriov\")"),
            said("reset", "'reset':true", "warning reset: ignored, it is for a device that goes into the pod"),
            said("rdmaIsolation", "'rdmaIsolation':true",
                 "warning rdmaIsolation: ignored, a child of an interface shares its parent's RDMA device"),
            said("device", "'attach':'macvlan','device':'eth9'",
                 "warning device: ignored, it names a device to move (\"attach\": \"host-device\")"),
        }};
}

} // namespace

std::vector<Table> device_tables() {
    return {names_of_vfs(), device_info_files(), host_devices(), rdma_devices(), partitions(), keys_of_vfs_elsewhere()};
}

} // namespace rdmanet::test
