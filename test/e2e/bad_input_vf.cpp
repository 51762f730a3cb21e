// The keys of a VF: wrong types, ranges, units, words and combinations. All are refused before rdmanet looks for a
// device, so this node needs none.
#include "bad_input.hpp"

#include "support/concat.hpp"

namespace rdmanet::test {
namespace {

constexpr const char* kVf = "'deviceID':'0000:3b:00.2',";

/// A VF with these members.
Row vf(const char* name, const std::string& members, int code, const char* key, const char* value) {
    return row_of("sriov", name, concat(kVf, members), code, key, value);
}

Row of_command(const char* name, Row row) {
    row.changes.push_back(command(name));
    return row;
}

Table vf_types() {
    return {
        "keys of a VF with a wrong type or out of range",
        {
            vf("vlan, a string", "'vlan':'100'", 7, "vlan", "\"100\""),
            vf("vlan, a fraction", "'vlan':100.5", 7, "vlan", "100.5"),
            vf("vlan, negative", "'vlan':-1", 7, "vlan", "-1"),
            vf("vlan, reserved", "'vlan':4095", 7, "vlan", "4095"),
            vf("vlan, beyond 16 bits", "'vlan':65636", 7, "vlan", "65636"),
            vf("vlan, beyond 64 bits", "'vlan':18446744073709551716", 7, "vlan", "1.8446744073709552e+19"),
            vf("vlan, a list", "'vlan':[100,200]", 7, "vlan", "an array"),
            vf("vlan, a boolean", "'vlan':true", 7, "vlan", "true"),
            vf("vlanQoS, a string", "'vlan':1,'vlanQoS':'3'", 7, "vlanQoS", "\"3\""),
            vf("vlanQoS, 8", "'vlan':1,'vlanQoS':8", 7, "vlanQoS", "8"),
            vf("vlanQoS, negative", "'vlan':1,'vlanQoS':-1", 7, "vlanQoS", "-1"),
            vf("vlanProto, a number", "'vlan':1,'vlanProto':8021", 7, "vlanProto", "8021"),
            vf("vlanProto, a word", "'vlan':1,'vlanProto':'qinq'", 7, "vlanProto", "\"qinq\""),
            vf("vlanProto, an ethertype", "'vlan':1,'vlanProto':'0x88a8'", 7, "vlanProto", "\"0x88a8\""),
            vf("rdma.onInactivePort, a word", "'rdma':{'onInactivePort':'down'}", 7, "rdma.onInactivePort", "\"down\""),
            vf("rdma.isolation, a word", "'rdma':{'isolation':'yes'}", 7, "rdma.isolation", "\"yes\""),
            vf("pkey, a boolean", "'pkey':true", 7, "pkey", "true"),
            vf("pkey, of nobody", "'pkey':'0x8000'", 7, "pkey", "\"0x8000\""),
            vf("spoofchk, a boolean", "'spoofchk':true", 7, "spoofchk", "true"),
            vf("spoofchk, a number", "'spoofchk':1", 7, "spoofchk", "1"),
            vf("spoofchk, a word", "'spoofchk':'yes'", 7, "spoofchk", "\"yes\""),
            vf("trust, a boolean", "'trust':false", 7, "trust", "false"),
            vf("trust, a word", "'trust':'true'", 7, "trust", "\"true\""),
            vf("trust, with a blank", "'trust':'on '", 7, "trust", "\"on \""),
            vf("link_state, a boolean", "'link_state':true", 7, "link_state", "true"),
            vf("link_state, up", "'link_state':'up'", 7, "link_state", "\"up\""),
            vf("link_state, enabled", "'link_state':'enabled'", 7, "link_state", "\"enabled\""),
            vf("link_state, a number", "'link_state':1", 7, "link_state", "1"),
            vf("min_tx_rate, a string", "'min_tx_rate':'100'", 7, "min_tx_rate", "\"100\""),
            vf("min_tx_rate, negative", "'min_tx_rate':-1", 7, "min_tx_rate", "-1"),
            vf("max_tx_rate, a unit", "'max_tx_rate':'10Gbit'", 7, "max_tx_rate", "\"10Gbit\""),
            vf("max_tx_rate, a fraction", "'max_tx_rate':0.5", 7, "max_tx_rate", "0.5"),
            vf("max_tx_rate, beyond 32 bits", "'max_tx_rate':4294967296", 7, "max_tx_rate", "4294967296"),
            vf("max_tx_rate, an object", "'max_tx_rate':{}", 7, "max_tx_rate", "an object"),
            vf("mtu, a string", "'mtu':'9000'", 7, "mtu", "\"9000\""),
            vf("mtu, too small", "'mtu':67", 7, "mtu", "67"),
            vf("mac, a number", "'mac':2", 7, "mac", "2"),
            vf("mac, multicast", "'mac':'03:00:00:00:00:01'", 7, "mac", "\"03:00:00:00:00:01\""),
            vf("mac, zero", "'mac':'00:00:00:00:00:00'", 7, "mac", "\"00:00:00:00:00:00\""),
            vf("mac, a GUID", "'mac':'02:00:00:00:00:00:00:01'", 7, "mac", "\"02:00:00:00:00:00:00:01\""),
            vf("rdmaIsolation, a word", "'rdmaIsolation':'true'", 7, "rdmaIsolation", "\"true\""),
            vf("rdmaIsolation, a number", "'rdmaIsolation':1", 7, "rdmaIsolation", "1"),
            vf("reset, a word", "'reset':'on'", 7, "reset", "\"on\""),
            vf("ibKubernetesEnabled, a word", "'ibKubernetesEnabled':'yes'", 7, "ibKubernetesEnabled", "\"yes\""),
        }};
}

Table guids() {
    return {"invalid GUIDs",
            {
                vf("a number", "'guid':2", 7, "guid", "2"),
                vf("an array", "'guid':[2,0,0,0,0,0,0,1]", 7, "guid", "an array"),
                vf("a MAC address", "'guid':'02:00:00:00:00:01'", 7, "guid", "\"02:00:00:00:00:01\""),
                vf("nine bytes", "'guid':'02:00:00:00:00:00:00:00:01'", 7, "guid", "\"02:00:00:00:00:00:00:00:01\""),
                vf("of no letters", "'guid':'::::::::'", 7, "guid", "\"::::::::\""),
                vf("no digits", "'guid':'02:00:00:00:00:00:00:0g'", 7, "guid", "\"02:00:00:00:00:00:00:0g\""),
                vf("in four groups", "'guid':'0200:0000:0000:0001'", 7, "guid", "\"0200:0000:0000:0001\""),
                vf("with a prefix", "'guid':'0x0200000000000001'", 7, "guid", "\"0x0200000000000001\""),
                vf("all 00", "'guid':'00:00:00:00:00:00:00:00'", 7, "guid", "\"00:00:00:00:00:00:00:00\""),
                vf("all ff", "'guid':'FF:ff:ff:ff:ff:ff:ff:ff'", 7, "guid", "\"FF:ff:ff:ff:ff:ff:ff:ff\""),
                vf("the runtime's", "'runtimeConfig':{'infinibandGUID':'02:00'}", 7, "runtimeConfig.infinibandGUID",
                   "\"02:00\""),
                vf("the runtime's, a number", "'runtimeConfig':{'infinibandGUID':5}", 7, "runtimeConfig.infinibandGUID",
                   "5"),
                vf("the runtime's, before a good one",
                   "'guid':'02:00:00:00:00:00:00:01','runtimeConfig':{'infinibandGUID':'x'}", 7,
                   "runtimeConfig.infinibandGUID", "\"x\""),
                vf("the annotation's", "'args':{'cni':{'guid':'02-00-00-00-00-00-00-01'}}", 7, "args.cni.guid",
                   "\"02-00-00-00-00-00-00-01\""),
                vf("the annotation's, an object", "'args':{'cni':{'guid':{}}}", 7, "args.cni.guid", "an object"),
                vf("no args", "'args':5", 7, "args", "5"),
                vf("no args.cni", "'args':{'cni':5}", 7, "args.cni", "5"),
                vf("no runtimeConfig", "'runtimeConfig':'x'", 7, "runtimeConfig", "\"x\""),
                vf("none from ib-kubernetes", "'ibKubernetesEnabled':true", 7, "ibKubernetesEnabled", "true"),
                vf("not from ib-kubernetes", "'ibKubernetesEnabled':true,'guid':'02:00:00:00:00:00:00:01'", 7,
                   "ibKubernetesEnabled", "true"),
                vf("ib-kubernetes has configured nothing",
                   "'ibKubernetesEnabled':true,'args':{'cni':{'mellanox.infiniband.app':'configured'}}", 7,
                   "ibKubernetesEnabled", "true"),
                vf("ib-kubernetes is not done",
                   "'ibKubernetesEnabled':true,'args':{'cni':{'guid':'02:00:00:00:00:00:00:01','mellanox.infiniband."
                   "app':'pending'}}",
                   7, "ibKubernetesEnabled", "true"),
                vf("ib-kubernetes says a number",
                   "'ibKubernetesEnabled':true,'args':{'cni':{'guid':'02:00:00:00:00:00:00:01','mellanox.infiniband."
                   "app':1}}",
                   7, "ibKubernetesEnabled", "true"),
            }};
}

Table vf_combinations() {
    return {"keys of a VF that don't go together",
            {
                vf("vlanQoS alone", "'vlanQoS':3", 7, "vlanQoS", "3"),
                vf("vlanProto alone", "'vlanProto':'802.1ad'", 7, "vlanProto", "\"802.1ad\""),
                vf("vlanQoS without a VLAN", "'vlan':0,'vlanQoS':3", 7, "vlanQoS", "3"),
                vf("vlanProto without a VLAN", "'vlan':0,'vlanProto':'802.1ad'", 7, "vlanProto", "\"802.1ad\""),
                vf("rates upside down", "'min_tx_rate':200,'max_tx_rate':100", 7, "min_tx_rate", "200"),
                vf("rdmaIsolation against rdma", "'rdma':false,'rdmaIsolation':true", 7, "rdmaIsolation", "true"),
                vf("rdmaIsolation against rdma.mode", "'rdma':{'mode':'shared'},'rdmaIsolation':true", 7,
                   "rdmaIsolation", "true"),
                vf("rdmaIsolation against rdma.isolation", "'rdma':{'isolation':true},'rdmaIsolation':false", 7,
                   "rdmaIsolation", "false"),
                vf("rdma.isolation against rdma.mode", "'rdma':{'mode':'exclusive','isolation':false}", 7,
                   "rdma.isolation", "false"),
                vf("master", "'master':'par0'", 2, "master", "\"par0\""),
                vf("mode", "'mode':'bridge'", 2, "mode", "\"bridge\""),
                vf("flag", "'flag':'vepa'", 2, "flag", "\"vepa\""),
                vf("bcqueuelen", "'bcqueuelen':10", 2, "bcqueuelen", "10"),
                vf("linkInContainer", "'linkInContainer':true", 2, "linkInContainer", "true"),
                vf("device", "'device':'eth1'", 2, "device", "\"eth1\""),
                vf("hwaddr", "'hwaddr':'02:00:00:00:00:01'", 2, "hwaddr", "\"02:00:00:00:00:01\""),
                vf("kernelpath", "'kernelpath':'/sys/devices/x'", 2, "kernelpath", "\"/sys/devices/x\""),
                of_command("CHECK", vf("CHECK refuses it too", "'vlan':4095", 7, "vlan", "4095")),
                of_command("STATUS", vf("STATUS refuses it too", "'trust':1", 7, "trust", "1")),
                of_command("DEL", vf("DEL doesn't mind",
                                     "'vlan':'x','guid':1,'trust':[],'rdmaIsolation':9,'args':5,'runtimeConfig':[]", 0,
                                     "", "")),
            }};
}

} // namespace

std::vector<Table> vf_tables() {
    return {vf_types(), guids(), vf_combinations()};
}

} // namespace rdmanet::test
