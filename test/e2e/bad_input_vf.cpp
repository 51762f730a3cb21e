// The keys of a VF: wrong types, ranges, units, words and combinations. All are refused before a device is looked for,
// which this node needs none of.
#include "bad_input.hpp"

namespace rdmanet::test {
namespace {

constexpr const char* kVf = "'master':null,'attach':'sriov','deviceID':'0000:3b:00.2',";

/// A VF with these members.
Row vf(const char* name, const std::string& members, int code, const char* message) {
    return {name, {member(concat(kVf, members))}, code, message};
}

Table vf_types() {
    return {
        "keys of a VF of the wrong type or out of range",
        {
            vf("vlan, a string", "'vlan':'100'", 7, "vlan: expected a whole number from 0 to 4094, found \"100\""),
            vf("vlan, a fraction", "'vlan':100.5", 7, "vlan: expected a whole number from 0 to 4094, found 100.5"),
            vf("vlan, negative", "'vlan':-1", 7, "vlan: expected a whole number from 0 to 4094, found -1"),
            vf("vlan, reserved", "'vlan':4095", 7, "vlan: expected a whole number from 0 to 4094, found 4095"),
            vf("vlan, beyond 16 bits", "'vlan':65636", 7, "vlan: expected a whole number from 0 to 4094, found 65636"),
            vf("vlan, beyond 64 bits", "'vlan':18446744073709551716", 7,
               "vlan: expected a whole number from 0 to 4094"),
            vf("vlan, a list", "'vlan':[100,200]", 7, "vlan: expected a whole number from 0 to 4094, found an array"),
            vf("vlan, a boolean", "'vlan':true", 7, "vlan: expected a whole number from 0 to 4094, found true"),
            vf("vlanQoS, a string", "'vlan':1,'vlanQoS':'3'", 7,
               "vlanQoS: expected a whole number from 0 to 7, found \"3\""),
            vf("vlanQoS, 8", "'vlan':1,'vlanQoS':8", 7, "vlanQoS: expected a whole number from 0 to 7, found 8"),
            vf("vlanQoS, negative", "'vlan':1,'vlanQoS':-1", 7,
               "vlanQoS: expected a whole number from 0 to 7, found -1"),
            vf("vlanProto, a number", "'vlan':1,'vlanProto':8021", 7,
               "vlanProto: expected one of \"802.1q\" \"802.1ad\", found 8021"),
            vf("vlanProto, a word", "'vlan':1,'vlanProto':'qinq'", 7,
               "vlanProto: expected one of \"802.1q\" \"802.1ad\""),
            vf("vlanProto, an ethertype", "'vlan':1,'vlanProto':'0x88a8'", 7, "vlanProto: expected one of \"802.1q\""),
            vf("rdma.onInactivePort, a word", "'rdma':{'onInactivePort':'down'}", 7,
               "rdma.onInactivePort: expected one of \"warn\" \"refuse\", found \"down\""),
            vf("rdma.isolation, a word", "'rdma':{'isolation':'yes'}", 7,
               "rdma.isolation: expected true or false, found \"yes\""),
            vf("pkey, a boolean", "'pkey':true", 7, "pkey: expected a whole number from 0 to 65535, found true"),
            vf("pkey, of nobody", "'pkey':'0x8000'", 7, "pkey: expected a partition key from 0x0001 to 0xffff"),
            vf("spoofchk, a boolean", "'spoofchk':true", 7, "spoofchk: expected one of \"on\" \"off\", found true"),
            vf("spoofchk, a number", "'spoofchk':1", 7, "spoofchk: expected one of \"on\" \"off\", found 1"),
            vf("spoofchk, a word", "'spoofchk':'yes'", 7, "spoofchk: expected one of \"on\" \"off\", found \"yes\""),
            vf("trust, a boolean", "'trust':false", 7, "trust: expected one of \"on\" \"off\", found false"),
            vf("trust, a word", "'trust':'true'", 7, "trust: expected one of \"on\" \"off\", found \"true\""),
            vf("trust, with a blank", "'trust':'on '", 7, "trust: expected one of \"on\" \"off\", found \"on \""),
            vf("link_state, a boolean", "'link_state':true", 7,
               "link_state: expected one of \"auto\" \"enable\" \"disable\", found true"),
            vf("link_state, up", "'link_state':'up'", 7,
               "link_state: expected one of \"auto\" \"enable\" \"disable\", found \"up\""),
            vf("link_state, enabled", "'link_state':'enabled'", 7,
               "link_state: expected one of \"auto\" \"enable\" \"disable\""),
            vf("link_state, a number", "'link_state':1", 7,
               "link_state: expected one of \"auto\" \"enable\" \"disable\", found 1"),
            vf("min_tx_rate, a string", "'min_tx_rate':'100'", 7,
               "min_tx_rate: expected a whole number from 0 to 4294967295"),
            vf("min_tx_rate, negative", "'min_tx_rate':-1", 7,
               "min_tx_rate: expected a whole number from 0 to 4294967295"),
            vf("max_tx_rate, a unit", "'max_tx_rate':'10Gbit'", 7,
               "max_tx_rate: expected a whole number from 0 to 4294967295, found \"10Gbit\""),
            vf("max_tx_rate, a fraction", "'max_tx_rate':0.5", 7,
               "max_tx_rate: expected a whole number from 0 to 4294967295"),
            vf("max_tx_rate, beyond 32 bits", "'max_tx_rate':4294967296", 7,
               "max_tx_rate: expected a whole number from 0 to 4294967295"),
            vf("max_tx_rate, an object", "'max_tx_rate':{}", 7,
               "max_tx_rate: expected a whole number from 0 to 4294967295, found an object"),
            vf("mtu, a string", "'mtu':'9000'", 7, "mtu: expected a whole number from 0 to 65535, found \"9000\""),
            vf("mtu, too small", "'mtu':67", 7,
               "mtu: expected 0 (the parent's) or a number from 68 to 65535, found 67"),
            vf("mac, a number", "'mac':2", 7, "mac: expected a string, found 2"),
            vf("mac, multicast", "'mac':'03:00:00:00:00:01'", 7, "mac: expected a unicast MAC address"),
            vf("mac, zero", "'mac':'00:00:00:00:00:00'", 7, "mac: expected a unicast MAC address"),
            vf("mac, a GUID", "'mac':'02:00:00:00:00:00:00:01'", 7, "mac: expected a MAC address like"),
            vf("rdmaIsolation, a word", "'rdmaIsolation':'true'", 7,
               "rdmaIsolation: expected true or false, found \"true\""),
            vf("rdmaIsolation, a number", "'rdmaIsolation':1", 7, "rdmaIsolation: expected true or false, found 1"),
            vf("reset, a word", "'reset':'on'", 7, "reset: expected true or false, found \"on\""),
            vf("ibKubernetesEnabled, a word", "'ibKubernetesEnabled':'yes'", 7,
               "ibKubernetesEnabled: expected true or false, found \"yes\""),
        }};
}

Table guids() {
    const char* expected = "guid: expected a GUID like \"02:00:00:00:00:00:00:01\", neither all 00 nor all ff, found ";
    return {"GUIDs that are none",
            {
                vf("a number", "'guid':2", 7, "guid: expected a string, found 2"),
                vf("an array", "'guid':[2,0,0,0,0,0,0,1]", 7, "guid: expected a string, found an array"),
                vf("a MAC address", "'guid':'02:00:00:00:00:01'", 7, expected),
                vf("nine bytes", "'guid':'02:00:00:00:00:00:00:00:01'", 7, expected),
                vf("of no letters", "'guid':'::::::::'", 7, expected),
                vf("no digits", "'guid':'02:00:00:00:00:00:00:0g'", 7, expected),
                vf("in four groups", "'guid':'0200:0000:0000:0001'", 7, expected),
                vf("with a prefix", "'guid':'0x0200000000000001'", 7, expected),
                vf("all 00", "'guid':'00:00:00:00:00:00:00:00'", 7, expected),
                vf("all ff", "'guid':'FF:ff:ff:ff:ff:ff:ff:ff'", 7, expected),
                vf("the runtime's", "'runtimeConfig':{'infinibandGUID':'02:00'}", 7,
                   "runtimeConfig.infinibandGUID: expected a GUID like"),
                vf("the runtime's, a number", "'runtimeConfig':{'infinibandGUID':5}", 7,
                   "runtimeConfig.infinibandGUID: expected a string, found 5"),
                vf("the runtime's, before a good one",
                   "'guid':'02:00:00:00:00:00:00:01','runtimeConfig':{'infinibandGUID':'x'}", 7,
                   "runtimeConfig.infinibandGUID: expected a GUID like"),
                vf("the annotation's", "'args':{'cni':{'guid':'02-00-00-00-00-00-00-01'}}", 7,
                   "args.cni.guid: expected a GUID like"),
                vf("the annotation's, an object", "'args':{'cni':{'guid':{}}}", 7,
                   "args.cni.guid: expected a string, found an object"),
                vf("no args", "'args':5", 7, "args: expected an object, found 5"),
                vf("no args.cni", "'args':{'cni':5}", 7, "args.cni: expected an object, found 5"),
                vf("no runtimeConfig", "'runtimeConfig':'x'", 7, "runtimeConfig: expected an object, found \"x\""),
                vf("none from ib-kubernetes", "'ibKubernetesEnabled':true", 7,
                   "ibKubernetesEnabled: expected false, or a pod that ib-kubernetes has configured"),
                vf("not from ib-kubernetes", "'ibKubernetesEnabled':true,'guid':'02:00:00:00:00:00:00:01'", 7,
                   "ibKubernetesEnabled: expected false, or a pod that ib-kubernetes has configured"),
                vf("ib-kubernetes has configured nothing",
                   "'ibKubernetesEnabled':true,'args':{'cni':{'mellanox.infiniband.app':'configured'}}", 7,
                   "ibKubernetesEnabled: expected false, or a pod that"),
                vf("ib-kubernetes is not done",
                   "'ibKubernetesEnabled':true,'args':{'cni':{'guid':'02:00:00:00:00:00:00:01','mellanox.infiniband."
                   "app':'pending'}}",
                   7, "ibKubernetesEnabled: expected false, or a pod that"),
                vf("ib-kubernetes says a number",
                   "'ibKubernetesEnabled':true,'args':{'cni':{'guid':'02:00:00:00:00:00:00:01','mellanox.infiniband."
                   "app':1}}",
                   7, "ibKubernetesEnabled: expected false, or a pod that"),
            }};
}

Table vf_combinations() {
    return {
        "keys of a VF that don't go together",
        {
            vf("vlanQoS alone", "'vlanQoS':3", 7, "vlanQoS: expected \"vlan\" beside it, found 3"),
            vf("vlanProto alone", "'vlanProto':'802.1ad'", 7,
               "vlanProto: expected \"vlan\" beside it, found \"802.1ad\""),
            vf("vlanQoS without a VLAN", "'vlan':0,'vlanQoS':3", 7, "vlanQoS: expected 0, as \"vlan\" is 0, found 3"),
            vf("vlanProto without a VLAN", "'vlan':0,'vlanProto':'802.1ad'", 7,
               "vlanProto: expected \"802.1q\", as \"vlan\" is 0"),
            vf("rates upside down", "'min_tx_rate':200,'max_tx_rate':100", 7,
               "min_tx_rate: expected at most \"max_tx_rate\", 100, found 200"),
            vf("rdmaIsolation against rdma", "'rdma':false,'rdmaIsolation':true", 7,
               "rdmaIsolation: expected what \"rdma\" says: false, found true"),
            vf("rdmaIsolation against rdma.mode", "'rdma':{'mode':'shared'},'rdmaIsolation':true", 7,
               "rdmaIsolation: expected what \"rdma\" says: false, found true"),
            vf("rdmaIsolation against rdma.isolation", "'rdma':{'isolation':true},'rdmaIsolation':false", 7,
               "rdmaIsolation: expected what \"rdma\" says: true, found false"),
            vf("rdma.isolation against rdma.mode", "'rdma':{'mode':'exclusive','isolation':false}", 7,
               "rdma.isolation: expected what \"rdma.mode\" says: true, found false"),
            vf("master", "'master':'par0'", 2,
               "master: \"par0\" is a key of children of an interface, this is sriov: remove it"),
            vf("mode", "'mode':'bridge'", 2,
               "mode: \"bridge\" is a key of children of an interface, this is sriov: remove it"),
            vf("flag", "'flag':'vepa'", 2,
               "flag: \"vepa\" is a key of children of an interface, this is sriov: remove it"),
            vf("bcqueuelen", "'bcqueuelen':10", 2,
               "bcqueuelen: 10 is a key of children of an interface, this is sriov: remove it"),
            vf("linkInContainer", "'linkInContainer':true", 2,
               "linkInContainer: true is a key of children of an interface, this is sriov"),
            vf("device", "'device':'eth1'", 2,
               "device: \"eth1\" is a key of host-device, this is sriov: name the VF by \"deviceID\""),
            vf("hwaddr", "'hwaddr':'02:00:00:00:00:01'", 2,
               "hwaddr: \"02:00:00:00:00:01\" is a key of host-device, this is sriov"),
            vf("kernelpath", "'kernelpath':'/sys/devices/x'", 2,
               "kernelpath: \"/sys/devices/x\" is a key of host-device, this is sriov"),
            {"CHECK says it too",
             {command("CHECK"), member(concat(kVf, "'vlan':4095"))},
             7,
             "vlan: expected a whole number from 0 to 4094"},
            {"STATUS says it too",
             {command("STATUS"), member(concat(kVf, "'trust':1"))},
             7,
             "trust: expected one of \"on\" \"off\", found 1"},
            {"DEL doesn't mind",
             {command("DEL"),
              member(concat(kVf, "'vlan':'x','guid':1,'trust':[],'rdmaIsolation':9,'args':5,'runtimeConfig':[]"))},
             0,
             ""},
        }};
}

} // namespace

std::vector<Table> vf_tables() {
    return {vf_types(), guids(), vf_combinations()};
}

} // namespace rdmanet::test
