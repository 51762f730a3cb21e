// The keys of "ipam" that say where leases are kept, docs/addresses.md.
#include "bad_input.hpp"

#include "support/concat.hpp"

namespace rdmanet::test {
namespace {

/// A network whose leases are in the cluster, with these members (single quotes).
Change shared(const std::string& members) {
    return ipam_member(concat("'store':'whereabouts','kubernetes':{'kubeconfig':'/run/none.kubeconfig'},", members));
}

Change blocks(const std::string& members) {
    return ipam_member(concat("'store':'blocks','kubernetes':{'kubeconfig':'/run/none.kubeconfig'},", members));
}

Table stores() {
    return {
        "stores that are not there, and what they need",
        {
            {"store, a number", {ipam_member("'store':1")}, 7, "ipam.store", "1"},
            {"store, a word", {ipam_member("'store':'redis'")}, 7, "ipam.store", "\"redis\""},
            {"store, without a cluster", {ipam_member("'store':'whereabouts'")}, 7, "ipam.store", "kubeconfig"},
            {"kubernetes, a word", {ipam_member("'kubernetes':'x'")}, 7, "ipam.kubernetes", "\"x\""},
            {"kubernetes, empty", {ipam_member("'kubernetes':{}")}, 7, "ipam.kubernetes", "kubeconfig"},
            {"kubernetes.kubeconfig, a number",
             {ipam_member("'kubernetes':{'kubeconfig':1}")},
             7,
             "ipam.kubernetes.kubeconfig",
             "1"},
            {"kubernetes.kubeconfig, relative",
             {ipam_member("'kubernetes':{'kubeconfig':'k'}")},
             7,
             "ipam.kubernetes.kubeconfig",
             "\"k\""},
            {"kubernetes.connectTimeoutMs, a word",
             {ipam_member("'kubernetes':{'kubeconfig':'/k','connectTimeoutMs':'2s'}")},
             7,
             "ipam.kubernetes.connectTimeoutMs",
             "\"2s\""},
            {"kubernetes.requestTimeoutMs, too short",
             {ipam_member("'kubernetes':{'kubeconfig':'/k','requestTimeoutMs':99}")},
             7,
             "ipam.kubernetes.requestTimeoutMs",
             "99"},
            {"kubernetes.addTimeoutMs, longer than a runtime waits",
             {ipam_member("'kubernetes':{'kubeconfig':'/k','addTimeoutMs':90001}")},
             7,
             "ipam.kubernetes.addTimeoutMs",
             "90001"},
            {"blockSize, a word", {blocks("'blockSize':'x'")}, 7, "ipam.blockSize", "\"x\""},
            {"blockSize, no power of two", {blocks("'blockSize':12")}, 7, "ipam.blockSize", "12"},
            {"requestable, a number", {blocks("'requestable':1")}, 7, "ipam.requestable", "1"},
            {"requestable, elsewhere", {blocks("'requestable':'10.99.0.0/24'")}, 7, "ipam.requestable", "10.99.0.0/24"},
            {"requestable, two parts of one range",
             {blocks("'range':'10.1.0.0/16','requestable':['10.1.1.0/24','10.1.2.0/24']")},
             7,
             "requestable",
             "10.1.1.0/24 and 10.1.2.0/24"},
            {"nodeName, a number", {blocks("'nodeName':1")}, 7, "ipam.nodeName", "1"},
            {"nodeName, a path", {blocks("'nodeName':'../secrets?x=#'")}, 7, "ipam.nodeName", "../secrets"},
            {"a range that is too large to be cut", {blocks("'range':'fd00::/7'")}, 7, "ipam", "fc00::/7"},
            {"no kubeconfig, of a cluster that store node has to obey",
             {ipam_member("'store':'node','kubernetes':{'kubeconfig':'/etc/k'}")},
             109,
             "another store",
             "/etc/k"},
            {"configuration_path, a number",
             {ipam_member("'configuration_path':1")},
             7,
             "ipam.configuration_path",
             "1"},
            {"configuration_path, relative",
             {ipam_member("'configuration_path':'x.conf'")},
             7,
             "ipam.configuration_path",
             "\"x.conf\""},
            {"configuration_path, no file",
             {ipam_member("'configuration_path':'/run/none.conf'")},
             7,
             "ipam.configuration_path",
             "/run/none.conf"},
            {"configuration_path, a directory",
             {ipam_member("'configuration_path':'/run'")},
             7,
             "ipam.configuration_path",
             "/run"},
            {"configuration_path, no JSON",
             {ipam_member("'configuration_path':'/etc/passwd'")},
             7,
             "/etc/passwd",
             "JSON"},
            {"slices", {ipam_member("'node_slice_size':'/26'")}, 7, "ipam.node_slice_size", "slices"},
            {"etcd of whereabouts", {ipam_member("'etcd_host':'10.0.0.9'")}, 7, "ipam.etcd_host", "\"store\""},
            {"a network_name that names no object", {shared("'network_name':'A'")}, 7, "ipam.network_name", "\"A\""},
            {"two ranges in one pool",
             {shared("'range':'10.70.0.0-10.70.0.9/24','ipRanges':[{'range':'10.70.0.20-10.70.0.29/24'}]")},
             7,
             "ipam",
             "10.70.0.0/24"},
            {"a pool without a name", {shared("'range':'::1:0:0:0/80'")}, 7, "ipam", "::1:0:0:0/80"},
            {"old keys of etcd beside a store are only said",
             {command("STATUS"), ipam_member("'store':'node','etcd_ca_cert_file':'/x'")},
             0,
             "ipam.etcd_ca_cert_file",
             "\"store\""},
            {"no kubeconfig on the node",
             {shared("'range':'10.77.0.0/24'")},
             109,
             "/run/none.kubeconfig",
             "kubeconfig"},
            {"addresses of the range on the node", {shared("'$comment':1")}, 109, "10.70.0.0/24", "\"store\""},
            {"addresses of the range on the node, STATUS",
             {command("STATUS"), shared("'$comment':1")},
             109,
             "10.70.0.0/24",
             "\"store\""},
            {"no kubeconfig on the node, STATUS",
             {command("STATUS"), shared("'range':'10.77.0.0/24'")},
             109,
             "/run/none.kubeconfig",
             "kubeconfig"},
        }};
}

/// A network whose leases are in an etcd that is not there, with these members of `etcd` (single quotes).
Change in_etcd(const std::string& members) {
    return ipam_member(concat("'range':'10.78.0.0/24','etcd':{", members, "}"));
}

Table of_etcd() {
    return {
        "etcd that is not there, and what it needs",
        {
            {"store etcd, without etcd", {ipam_member("'store':'etcd'")}, 7, "ipam.store", "endpoints"},
            {"etcd, a word", {ipam_member("'etcd':'http://u:pw@x:2379'")}, 7, "ipam.etcd", "an object"},
            {"etcd, empty", {in_etcd("")}, 7, "ipam.etcd", "endpoints"},
            {"etcd.endpoints, a word", {in_etcd("'endpoints':'http://u:pw@x'")}, 7, "ipam.etcd.endpoints", "a list"},
            {"etcd.endpoints, an object",
             {in_etcd("'endpoints':[{'x':'u:pw@x'}]")},
             7,
             "ipam.etcd.endpoints[0]",
             "https"},
            {"etcd.endpoints, none", {in_etcd("'endpoints':[]")}, 7, "ipam.etcd.endpoints", "1 to 16"},
            {"etcd.endpoints, no URL", {in_etcd("'endpoints':['x:2379']")}, 7, "ipam.etcd.endpoints[0]", "x:2379"},
            {"etcd.endpoints, with TLS and without",
             {in_etcd("'endpoints':['http://x:2379','https://y:2379']")},
             7,
             "ipam.etcd.endpoints",
             "https"},
            {"etcd, https without authority", {in_etcd("'endpoints':['https://x:2379']")}, 7, "ipam.etcd", "\"ca\""},
            {"etcd.ca, relative",
             {in_etcd("'endpoints':['https://x:2379'],'ca':'ca.crt'")},
             7,
             "ipam.etcd.ca",
             "\"ca.crt\""},
            {"etcd.passwordFile, of a network",
             {in_etcd("'endpoints':['http://127.0.0.1:1'],'username':'u','passwordFile':'/etc/hostname'")},
             7,
             "ipam.etcd.passwordFile",
             "/etc/cni/net.d/rdmanet.d/rdmanet.conf"},
            {"etcd.key, of a network",
             {in_etcd("'endpoints':['https://x:2379'],'ca':'/x','cert':'/x','key':'/x'")},
             7,
             "ipam.etcd.key",
             "/etc/cni/net.d/rdmanet.d/rdmanet.conf"},
            {"etcd.connectTimeoutMs, too long",
             {in_etcd("'endpoints':['http://x:2379'],'connectTimeoutMs':30001")},
             7,
             "ipam.etcd.connectTimeoutMs",
             "30001"},
            {"etcd.prefix, relative",
             {in_etcd("'endpoints':['http://x:2379'],'prefix':'x'")},
             7,
             "ipam.etcd.prefix",
             "\"x\""},
            {"etcd and kubernetes",
             {ipam_member("'kubernetes':{'kubeconfig':'/k'},'etcd':{'endpoints':['http://x:2379']}")},
             7,
             "ipam.etcd",
             "\"store\""},
            {"nodeName, a number", {ipam_member("'nodeName':1")}, 7, "ipam.nodeName", "1"},
            {"etcd.endpoints, no host", {in_etcd("'endpoints':['http://']")}, 7, "ipam.etcd.endpoints[0]", "http://"},
            {"etcd.endpoints, a user",
             {in_etcd("'endpoints':['http://u:pw@x:2379']")},
             7,
             "ipam.etcd.endpoints[0]",
             "\"http://...@x:2379\""},
            {"etcd.endpoints, a user without a scheme",
             {in_etcd("'endpoints':['u:pw@x:2379']")},
             7,
             "ipam.etcd.endpoints[0]",
             "\"...@x:2379\""},
            {"etcd.ca, no such file",
             {in_etcd("'endpoints':['https://127.0.0.1:1'],'ca':'/run/none.crt'")},
             109,
             "etcd.ca",
             "/run/none.crt"},
        }};
}

} // namespace

std::vector<Table> store_tables() {
    return {stores(), of_etcd()};
}

} // namespace rdmanet::test
