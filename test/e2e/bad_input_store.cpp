// The keys of "ipam" that say where leases are kept, docs/addresses.md.
#include "bad_input.hpp"

#include "support/concat.hpp"

#include <utility>

namespace rdmanet::test {
namespace {

/// A network whose leases are in the cluster, with these members (single quotes).
Change shared(const std::string& members) {
    return ipam_member(concat("'store':'whereabouts','kubernetes':{'kubeconfig':'/run/none.kubeconfig'},", members));
}

Change blocks(const std::string& members) {
    return ipam_member(concat("'store':'blocks','kubernetes':{'kubeconfig':'/run/none.kubeconfig'},", members));
}

/// A row whose value nobody can mean.
Row refused(const char* name, Change change, const char* key, const char* value) {
    return {name, {std::move(change)}, 7, key, value};
}

Table stores() {
    return {
        "stores that are not there, and what they need",
        {
            refused("store, a number", ipam_member("'store':1"), "ipam.store", "1"),
            refused("store, a word", ipam_member("'store':'redis'"), "ipam.store", "\"redis\""),
            refused("store, without a cluster", ipam_member("'store':'whereabouts'"), "ipam.store", "kubeconfig"),
            refused("kubernetes, a word", ipam_member("'kubernetes':'x'"), "ipam.kubernetes", "\"x\""),
            refused("kubernetes, empty", ipam_member("'kubernetes':{}"), "ipam.kubernetes", "kubeconfig"),
            refused("kubernetes.kubeconfig, a number", ipam_member("'kubernetes':{'kubeconfig':1}"),
                    "ipam.kubernetes.kubeconfig", "1"),
            refused("kubernetes.kubeconfig, relative", ipam_member("'kubernetes':{'kubeconfig':'k'}"),
                    "ipam.kubernetes.kubeconfig", "\"k\""),
            refused("kubernetes.connectTimeoutMs, a word",
                    ipam_member("'kubernetes':{'kubeconfig':'/k','connectTimeoutMs':'2s'}"),
                    "ipam.kubernetes.connectTimeoutMs", "\"2s\""),
            refused("kubernetes.requestTimeoutMs, too short",
                    ipam_member("'kubernetes':{'kubeconfig':'/k','requestTimeoutMs':99}"),
                    "ipam.kubernetes.requestTimeoutMs", "99"),
            refused("kubernetes.addTimeoutMs, longer than a runtime waits",
                    ipam_member("'kubernetes':{'kubeconfig':'/k','addTimeoutMs':90001}"),
                    "ipam.kubernetes.addTimeoutMs", "90001"),
            refused("blockSize, a word", blocks("'blockSize':'x'"), "ipam.blockSize", "\"x\""),
            refused("blockSize, no power of two", blocks("'blockSize':12"), "ipam.blockSize", "12"),
            refused("requestable, a number", blocks("'requestable':1"), "ipam.requestable", "1"),
            refused("requestable, elsewhere", blocks("'requestable':'10.99.0.0/24'"), "ipam.requestable",
                    "10.99.0.0/24"),
            refused("requestable, two parts of one range",
                    blocks("'range':'10.1.0.0/16','requestable':['10.1.1.0/24','10.1.2.0/24']"), "requestable",
                    "10.1.1.0/24 and 10.1.2.0/24"),
            refused("nodeName, a number", blocks("'nodeName':1"), "ipam.nodeName", "1"),
            refused("nodeName, a path", blocks("'nodeName':'../secrets?x=#'"), "ipam.nodeName", "../secrets"),
            refused("a range that is too large to be cut", blocks("'range':'fd00::/7'"), "ipam", "fc00::/7"),
            {"no kubeconfig, of a cluster that store node has to obey",
             {ipam_member("'store':'node','kubernetes':{'kubeconfig':'/etc/k'}")},
             109,
             "another store",
             "/etc/k"},
            refused("configuration_path, a number", ipam_member("'configuration_path':1"), "ipam.configuration_path",
                    "1"),
            refused("configuration_path, relative", ipam_member("'configuration_path':'x.conf'"),
                    "ipam.configuration_path", "\"x.conf\""),
            refused("configuration_path, no file", ipam_member("'configuration_path':'/run/none.conf'"),
                    "ipam.configuration_path", "/run/none.conf"),
            refused("configuration_path, a directory", ipam_member("'configuration_path':'/run'"),
                    "ipam.configuration_path", "/run"),
            refused("configuration_path, no JSON", ipam_member("'configuration_path':'/etc/passwd'"), "/etc/passwd",
                    "JSON"),
            refused("slices", ipam_member("'node_slice_size':'/26'"), "ipam.node_slice_size", "slices"),
            refused("etcd of whereabouts", ipam_member("'etcd_host':'10.0.0.9'"), "ipam.etcd_host", "\"store\""),
            refused("a network_name that names no object", shared("'network_name':'A'"), "ipam.network_name", "\"A\""),
            refused("two ranges in one pool",
                    shared("'range':'10.70.0.0-10.70.0.9/24','ipRanges':[{'range':'10.70.0.20-10.70.0.29/24'}]"),
                    "ipam", "10.70.0.0/24"),
            refused("a pool without a name", shared("'range':'::1:0:0:0/80'"), "ipam", "::1:0:0:0/80"),
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

/// What the parser refuses is in store_choice_test.cpp of ipam.
Table of_etcd() {
    return {
        "etcd that is not there, and what it needs",
        {
            refused("etcd, a word", ipam_member("'etcd':'http://u:pw@x:2379'"), "ipam.etcd", "an object"),
            refused("etcd.endpoints, a word", in_etcd("'endpoints':'http://u:pw@x'"), "ipam.etcd.endpoints", "a list"),
            refused("etcd.endpoints, an object", in_etcd("'endpoints':[{'x':'u:pw@x'}]"), "ipam.etcd.endpoints[0]",
                    "https"),
            refused("etcd.ca, relative", in_etcd("'endpoints':['https://x:2379'],'ca':'ca.crt'"), "ipam.etcd.ca",
                    "\"ca.crt\""),
            refused("etcd.connectTimeoutMs, too long",
                    in_etcd("'endpoints':['http://x:2379'],'connectTimeoutMs':30001"), "ipam.etcd.connectTimeoutMs",
                    "30001"),
            refused("etcd.endpoints, no host", in_etcd("'endpoints':['http://']"), "ipam.etcd.endpoints[0]", "http://"),
            refused("etcd.endpoints, a user", in_etcd("'endpoints':['http://u:pw@x:2379']"), "ipam.etcd.endpoints[0]",
                    "\"http://...@x:2379\""),
            refused("etcd.endpoints, a user without a scheme", in_etcd("'endpoints':['u:pw@x:2379']"),
                    "ipam.etcd.endpoints[0]", "\"...@x:2379\""),
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
