// How a configuration names its device, and the keys of all kinds except macvlan and ipvlan.
#include "bad_input.hpp"

#include "support/concat.hpp"

namespace rdmanet::test {
namespace {

Row sriov(const char* name, const std::string& members, int code, const char* key, const char* value) {
    return row_of("sriov", name, members, code, key, value);
}
Row host_device(const char* name, const std::string& members, int code, const char* key, const char* value) {
    return row_of("host-device", name, members, code, key, value);
}
Row rdma_only(const char* name, const std::string& members, int code, const char* key, const char* value) {
    return row_of("rdma", name, concat("'ipam':null,", members), code, key, value);
}
Row ipoib(const char* name, const std::string& members, int code, const char* key, const char* value) {
    return row_of("ipoib", name, concat("'master':'par0',", members), code, key, value);
}

Table names_of_vfs() {
    return {"names of VFs",
            {
                sriov("none", "'deviceID':null", 7, "deviceID", ""),
                sriov("empty", "'deviceID':''", 7, "deviceID", ""),
                sriov("a number", "'deviceID':3", 7, "deviceID", "3"),
                sriov("an array", "'deviceID':['0000:3b:00.2']", 7, "deviceID", "an array"),
                sriov("without domain", "'deviceID':'3b:00.2'", 7, "deviceID", "\"3b:00.2\""),
                sriov("without function", "'deviceID':'0000:3b:00'", 7, "deviceID", "\"0000:3b:00\""),
                sriov("function 8", "'deviceID':'0000:3b:00.8'", 7, "deviceID", "\"0000:3b:00.8\""),
                sriov("device 20", "'deviceID':'0000:3b:20.0'", 7, "deviceID", "\"0000:3b:20.0\""),
                sriov("with a blank", "'deviceID':' 0000:3b:00.2'", 7, "deviceID", "\" 0000:3b:00.2\""),
                sriov("with more behind it", "'deviceID':'0000:3b:00.2/../0000:00:00.0'", 7, "deviceID",
                      "\"0000:3b:00.2/../0000:00:00.0\""),
                sriov("the way out of sysfs", "'deviceID':'../../../etc'", 7, "deviceID", "\"../../../etc\""),
                sriov("an interface", "'deviceID':'par0'", 7, "deviceID", "\"par0\""),
                sriov("an auxiliary device", "'deviceID':'mlx5_core.sf.4'", 7, "deviceID", "\"mlx5_core.sf.4\""),
                sriov("two of them", "'deviceID':'0000:3b:00.2,0000:3b:00.3'", 7, "deviceID",
                      "\"0000:3b:00.2,0000:3b:00.3\""),
                sriov("pciBusID", "'pciBusID':'x'", 7, "pciBusID", "\"x\""),
                sriov("pciBusID, a boolean", "'pciBusID':true", 7, "pciBusID", "true"),
                sriov("the runtime's first", "'deviceID':'ffff:ff:1f.7','runtimeConfig':{'deviceID':'x'}", 7,
                      "runtimeConfig.deviceID", "\"x\""),
                sriov("the runtime's, a number", "'runtimeConfig':{'deviceID':0}", 7, "runtimeConfig.deviceID", "0"),
                sriov("not on this node", "'deviceID':'ffff:ff:1f.7'", 102, "ffff:ff:1f.7", ""),
                sriov("in capital letters", "'deviceID':'FFFF:FF:1F.7'", 102, "ffff:ff:1f.7", ""),
                {"STATUS is about the node",
                 {command("STATUS"), member("'master':null,'attach':'sriov','deviceID':null")},
                 0,
                 "",
                 ""},
                {"without \"attach\", a VF's key", {member("'master':null,'spoofchk':'on'")}, 7, "deviceID", ""},
                {"without \"attach\", a device",
                 {member("'master':null,'deviceID':'ffff:ff:1f.7'")},
                 102,
                 "ffff:ff:1f.7",
                 ""},
            }};
}

Table device_info_files() {
    const auto file = [&](const char* name, const std::string& path, const char* key, const char* value) {
        return sriov(name, concat("'deviceID':'ffff:ff:1f.7','runtimeConfig':{'CNIDeviceInfoFile':", path, '}'), 7, key,
                     value);
    };
    return {
        "device-info files",
        {
            file("a number", "1", "runtimeConfig.CNIDeviceInfoFile", "1"),
            file("elsewhere", "'/etc/shadow'", "runtimeConfig.CNIDeviceInfoFile", "\"/etc/shadow\""),
            file("the directory itself", "'/run/k8s.cni.cncf.io/devinfo/cni/'", "runtimeConfig.CNIDeviceInfoFile",
                 "\"/run/k8s.cni.cncf.io/devinfo/cni/\""),
            file("the directory itself, dotted", "'/run/k8s.cni.cncf.io/devinfo/cni/.'",
                 "runtimeConfig.CNIDeviceInfoFile", "\"/run/k8s.cni.cncf.io/devinfo/cni/.\""),
            file("the directory above", "'/run/k8s.cni.cncf.io/devinfo/cni/..'", "runtimeConfig.CNIDeviceInfoFile",
                 "\"/run/k8s.cni.cncf.io/devinfo/cni/..\""),
            file("the device plugin's", "'/run/k8s.cni.cncf.io/devinfo/dp/a-c1_net1'",
                 "runtimeConfig.CNIDeviceInfoFile", "\"/run/k8s.cni.cncf.io/devinfo/dp/a-c1_net1\""),
            file("out of it", "'/var/run/k8s.cni.cncf.io/devinfo/cni/../../../etc/cron.d/x'",
                 "runtimeConfig.CNIDeviceInfoFile", "\"/var/run/k8s.cni.cncf.io/devinfo/cni/../../../etc/cron.d/x\""),
            file("beside it", "'/run/k8s.cni.cncf.io/devinfo-x/y'", "runtimeConfig.CNIDeviceInfoFile",
                 "\"/run/k8s.cni.cncf.io/devinfo-x/y\""),
            file("below it", "'/run/k8s.cni.cncf.io/devinfo/cni/a/b-c1_net1'", "runtimeConfig.CNIDeviceInfoFile",
                 "\"/run/k8s.cni.cncf.io/devinfo/cni/a/b-c1_net1\""),
            file("of another pod", "'/run/k8s.cni.cncf.io/devinfo/cni/default-net-c2_net1'",
                 "runtimeConfig.CNIDeviceInfoFile", "\"/run/k8s.cni.cncf.io/devinfo/cni/default-net-c2_net1\""),
            file("of another interface", "'/run/k8s.cni.cncf.io/devinfo/cni/default-net-c1_net2'",
                 "runtimeConfig.CNIDeviceInfoFile", "\"/run/k8s.cni.cncf.io/devinfo/cni/default-net-c1_net2\""),
            file("of no network", "'/run/k8s.cni.cncf.io/devinfo/cni/-c1_net1'", "runtimeConfig.CNIDeviceInfoFile",
                 "\"/run/k8s.cni.cncf.io/devinfo/cni/-c1_net1\""),
            file("relative", "'k8s.cni.cncf.io/devinfo/x'", "runtimeConfig.CNIDeviceInfoFile",
                 "\"k8s.cni.cncf.io/devinfo/x\""),
            file("with a line break", "'/run/k8s.cni.cncf.io/devinfo/cni/x\\n-c1_net1'",
                 "runtimeConfig.CNIDeviceInfoFile", "\"/run/k8s.cni.cncf.io/devinfo/cni/x\\n-c1_net1\""),
            file("with a zero", "'/run/k8s.cni.cncf.io/devinfo/cni/x\\u0000-c1_net1'",
                 "runtimeConfig.CNIDeviceInfoFile", "\"/run/k8s.cni.cncf.io/devinfo/cni/x\\u0000-c1_net1\""),
        }};
}

Table host_devices() {
    return {"whole functions",
            {
                host_device("no name", "'device':null", 7, "\"device\"", ""),
                host_device("an empty name", "'device':''", 7, "\"device\"", ""),
                host_device("device, a number", "'device':0", 7, "device", "0"),
                host_device("device, absent", "'device':'eth99'", 102, "device", "\"eth99\""),
                host_device("device, no name", "'device':'../eth0'", 102, "device", "\"../eth0\""),
                host_device("device, 256 KiB", concat("'device':'", std::string(std::size_t{1} << 18U, 'x'), '\''), 102,
                            "device", "\"xxxxxxxxxxx..."),
                host_device("RDMA of a virtual interface", "'device':'par0','rdma':true", 103, "\"par0\"", ""),
                host_device("device, the loopback", "'device':'lo'", 102, "\"lo\"", ""),
                host_device("hwaddr, a number", "'hwaddr':1", 7, "hwaddr", "1"),
                host_device("hwaddr, none", "'hwaddr':'02:00:00:00:00'", 7, "hwaddr", "\"02:00:00:00:00\""),
                host_device("hwaddr, nobody's", "'hwaddr':'02:00:00:00:99:99'", 102, "02:00:00:00:99:99", ""),
                host_device("kernelpath, a boolean", "'kernelpath':true", 7, "kernelpath", "true"),
                host_device("kernelpath, no device's", "'kernelpath':'/sys/class/net'", 7, "kernelpath",
                            "\"/sys/class/net\""),
                host_device("kernelpath, with a slash behind it", "'kernelpath':'/sys/devices/0000:3b:00.0/'", 7,
                            "kernelpath", "\"/sys/devices/0000:3b:00.0/\""),
                host_device("kernelpath, absent", "'kernelpath':'/sys/devices/pci0000:00/ffff:ff:1f.7'", 102,
                            "ffff:ff:1f.7", ""),
                host_device("deviceID, a path", "'deviceID':'/sys/bus/pci/devices/0000:3b:00.0'", 7, "deviceID",
                            "\"/sys/bus/pci/devices/0000:3b:00.0\""),
                host_device("deviceID, an auxiliary device that is absent", "'deviceID':'mlx5_core.sf.4711'", 102,
                            "mlx5_core.sf.4711", ""),
                host_device("deviceID, an auxiliary device without a number", "'deviceID':'mlx5_core.sf'", 7,
                            "deviceID", "\"mlx5_core.sf\""),
                host_device("vlan", "'device':'eth9','vlan':100", 2, "vlan", "100"),
                host_device("spoofchk", "'device':'eth9','spoofchk':'on'", 2, "spoofchk", "\"on\""),
                host_device("link_state", "'device':'eth9','link_state':'auto'", 2, "link_state", "\"auto\""),
                host_device("max_tx_rate", "'device':'eth9','max_tx_rate':100", 2, "max_tx_rate", "100"),
                host_device("guid", "'device':'eth9','guid':'02:00:00:00:00:00:00:01'", 2, "guid",
                            "\"02:00:00:00:00:00:00:01\""),
                host_device("pkey", "'device':'eth9','pkey':'0x8001'", 2, "pkey", "\"0x8001\""),
                host_device("master", "'device':'eth9','master':'par0'", 2, "master", "\"par0\""),
                {"without \"attach\", that plugin's key",
                 {member("'master':null,'device':'eth99','trust':'on'")},
                 2,
                 "trust",
                 "\"on\""},
            }};
}

Table rdma_devices() {
    return {"RDMA devices alone",
            {
                rdma_only("behind nothing", "'dns':{}", 7, "prevResult", ""),
                rdma_only("mtu", "'mtu':1400", 2, "mtu", "1400"),
                rdma_only("mac", "'mac':'02:00:00:00:00:01'", 2, "mac", "\"02:00:00:00:00:01\""),
                rdma_only("ipam", "'ipam':{'type':'rdmanet','range':'10.70.0.0/24'}", 2, "ipam",
                          "{\"range\":\"10.70.0.0/24\",\"type\":\"rdmanet\"}"),
                rdma_only("duplicateAddressDetection", "'duplicateAddressDetection':'probe'", 2,
                          "duplicateAddressDetection", "\"probe\""),
                rdma_only("defaultRoute", "'defaultRoute':'always'", 2, "defaultRoute", "\"always\""),
                rdma_only("master", "'master':'par0'", 2, "master", "\"par0\""),
                rdma_only("vlan", "'vlan':100", 2, "vlan", "100"),
                rdma_only("reset", "'reset':true", 2, "reset", "true"),
                rdma_only("guid", "'guid':'02:00:00:00:00:00:00:01'", 2, "guid", "\"02:00:00:00:00:00:00:01\""),
                rdma_only("pkey", "'pkey':32769", 2, "pkey", "32769"),
                rdma_only("device", "'device':'par0'", 2, "device", "\"par0\""),
                rdma_only("kernelpath", "'kernelpath':'/sys/devices/0000:3b:00.0'", 2, "kernelpath",
                          "\"/sys/devices/0000:3b:00.0\""),
                rdma_only("rdma, false", "'rdma':false", 7, "rdma", "false"),
                rdma_only("rdma.mode, shared", "'rdma':{'mode':'shared'}", 7, "rdma", "an object"),
                rdma_only("rdma.isolation, false", "'rdma':{'isolation':false}", 7, "rdma", "an object"),
                rdma_only("rdmaIsolation, false", "'rdmaIsolation':false", 7, "rdmaIsolation", "false"),
                rdma_only("rdma.device, an array", "'rdma':{'device':[0]}", 7, "rdma.device", "an array"),
                rdma_only("rdma.device, negative", "'rdma':{'device':-1}", 7, "rdma.device", "-1"),
                rdma_only("rdma.device, 64 letters", concat("'rdma':{'device':'", std::string(64, 'x'), "'}"), 7,
                          "rdma.device", "\"xxxxxxxxxxx..."),
                rdma_only("rdma.device, shared", "'rdma':{'device':0,'mode':'shared'}", 7, "rdma.device", "0"),
                rdma_only("rdma.linkLocalGids", "'rdma':{'linkLocalGids':false}", 2, "rdma.linkLocalGids", "false"),
                rdma_only("rdma.maxGids", "'rdma':{'maxGids':8}", 2, "rdma.maxGids", "8"),
                rdma_only("rdma.name, a number", "'rdma':{'name':0}", 7, "rdma.name", "0"),
                rdma_only("rdma.name, empty", "'rdma':{'name':''}", 7, "rdma.name", "\"\""),
                rdma_only("rdma.name, a path", "'rdma':{'name':'../x'}", 7, "rdma.name", "\"../x\""),
                rdma_only("rdma.name, two", "'rdma':{'name':'a,b'}", 7, "rdma.name", "\"a,b\""),
                rdma_only("rdma.name, 64 letters", concat("'rdma':{'name':'", std::string(64, 'x'), "'}"), 7,
                          "rdma.name", "\"xxxxxxxxxxx..."),
                {"rdma.device, of a child", {member("'rdma':{'device':0}")}, 2, "rdma.device", "0"},
                rdma_only("deviceID, an interface", "'deviceID':'par0'", 7, "deviceID", "\"par0\""),
            }};
}

Table partitions() {
    return {"IPoIB children",
            {
                ipoib("pkey, a boolean", "'pkey':true", 7, "pkey", "true"),
                ipoib("pkey, negative", "'pkey':-1", 7, "pkey", "-1"),
                ipoib("pkey, beyond 16 bits", "'pkey':65536", 7, "pkey", "65536"),
                ipoib("pkey, zero", "'pkey':0", 7, "pkey", "0"),
                ipoib("pkey, only the membership", "'pkey':32768", 7, "pkey", "32768"),
                ipoib("pkey, only the membership, in words", "'pkey':'0x8000'", 7, "pkey", "\"0x8000\""),
                ipoib("pkey, only the prefix", "'pkey':'0x'", 7, "pkey", "\"0x\""),
                ipoib("pkey, hexadecimal without prefix", "'pkey':'8fff'", 7, "pkey", "\"8fff\""),
                ipoib("pkey, five digits", "'pkey':'0x18001'", 7, "pkey", "\"0x18001\""),
                ipoib("pkey, with a sign", "'pkey':'0x-1'", 7, "pkey", "\"0x-1\""),
                ipoib("pkey, a fraction", "'pkey':1.5", 7, "pkey", "1.5"),
                ipoib("mode of macvlan", "'mode':'bridge'", 7, "mode", "\"bridge\""),
                ipoib("mac", "'mac':'02:00:00:00:00:01'", 2, "mac", "\"02:00:00:00:00:01\""),
                ipoib("flag", "'flag':'vepa'", 2, "flag", "\"vepa\""),
                ipoib("bcqueuelen", "'bcqueuelen':1", 2, "bcqueuelen", "1"),
                ipoib("a parent that is none", "'pkey':1", 102, "\"par0\"", ""),
                ipoib("exclusive", "'rdma':{'mode':'exclusive'}", 2, "rdma", ""),
                {"pkey of an ipvlan", {member("'attach':'ipvlan','pkey':'0x8001'")}, 2, "pkey", "\"0x8001\""},
            }};
}

Table keys_of_vfs_elsewhere() {
    const auto said = [](const char* name, const char* members, const char* key, const char* value) {
        return Row{name, {command("STATUS"), member(members)}, 0, key, value};
    };
    return {"keys of VFs and devices without a device",
            {
                said("vlanQoS", "'vlanQoS':3", "vlanQoS", ""),
                said("spoofchk", "'spoofchk':'on'", "spoofchk", ""),
                said("max_tx_rate", "'attach':'ipvlan','max_tx_rate':'x'", "max_tx_rate", ""),
                said("guid", "'guid':'x'", "guid", ""),
                said("reset", "'reset':true", "reset", ""),
                said("rdmaIsolation", "'rdmaIsolation':true", "rdmaIsolation", ""),
                said("device", "'attach':'macvlan','device':'eth9'", "device", ""),
            }};
}

} // namespace

std::vector<Table> device_tables() {
    return {names_of_vfs(), device_info_files(), host_devices(), rdma_devices(), partitions(), keys_of_vfs_elsewhere()};
}

} // namespace rdmanet::test
