// The name of an API server, looked up by a real name server.
#include "attachment_stage.hpp"
#include "cluster_stage.hpp"
#include "shell_call.hpp"

#include "support/concat.hpp"
#include "support/named_netns.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

namespace rdmanet::test {
namespace {

/// A node with name servers at 127.0.0.1, which answers, and at 127.0.0.2, which is silent. `ip netns exec` shows its
/// resolv.conf to programs.
class NamedNode {
public:
    NamedNode() {
        add_netns(kName);
        shell(concat("mkdir -p /etc/netns/", kName, ' ', kDirectory, " && cd ", kDirectory,
                     " && for i in $(seq 60); do echo 127.0.1.$i many.example; done >hosts"));
        // Nobody has 192.0.2.1, and for three seconds nobody knows.
        shell(concat("ip -n ", kName, " link add away0 type veth peer name away1 && ip -n ", kName,
                     " link set away1 up && ip -n ", kName, " link set away0 up && ip -n ", kName,
                     " address add 192.0.2.9/24 dev away0 && printf '192.0.2.1 two.example\\n127.0.0.1 two.example\\n' "
                     ">/etc/netns/",
                     kName, "/hosts"));
        serve("127.0.0.1", concat(" --host-record=api.example,127.0.0.1 --host-record=six.example,::1 "
                                  "--cname=alias.example,api.example --addn-hosts=",
                                  kDirectory, "/hosts"));
        serve("127.0.0.2", "");
        shell(concat("kill -STOP $(cat ", kDirectory, "/127.0.0.2)"));
    }
    NamedNode(const NamedNode&) = delete;
    NamedNode& operator=(const NamedNode&) = delete;
    ~NamedNode() {
        (void)succeeds(concat("cd ", kDirectory, " && kill -KILL $(cat 127.0.0.1 127.0.0.2)"));
        (void)succeeds(concat("rm -r ", kDirectory, " /etc/netns/", kName));
        delete_netns(kName);
    }

    /// Why ADD cannot reach the API server of that name.
    [[nodiscard]] std::string trouble(const std::string& host, const std::string& resolver) const {
        write_kubeconfig(replaced(kNobody, "127.0.0.1", host));
        shell(concat("printf '", resolver, "' >/etc/netns/", kName, "/resolv.conf"));
        PluginCall call;
        call.netns = pod_.path();
        call.args = "K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till";
        call.config = json_text(concat("{'cniVersion':'1.1.0','name':'net','type':'macvlan','ipam':{'type':'rdmanet',"
                                       "'range':'10.31.70.0/24','kubernetes':{'kubeconfig':'",
                                       kKubeconfig, "'}}}"));
        return error_of(run_by_shell(concat("ip netns exec ", kName, " $0"), call));
    }

private:
    static void serve(const std::string& address, const std::string& records) {
        shell(concat("ip netns exec ", kName,
                     " dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces ",
                     "--user=root --local=/example/ --listen-address=", address, " --pid-file=", kDirectory, '/',
                     address, records));
    }

    Pod pod_{"pod"};
    static constexpr const char* kName = "named-node";
    static constexpr const char* kDirectory = "/run/named-node";
};

} // namespace

TEST_CASE(
    "the API server's name is looked up in DNS, and servers and addresses that are silent take little of the time",
    "[ipam]") {
    NEEDS(std::filesystem::exists("/usr/sbin/dnsmasq"), "dnsmasq");
    const NamedNode node;
    // On a busy machine the two seconds of one try may be too short.
    const auto finds = [&](const std::string& host, const std::string& resolver) {
        return comes_true([&] { return names(node.trouble(host, resolver), "TCP: connecting: connection refused"); });
    };
    CHECK(finds("api.example", "nameserver 127.0.0.1\n"));
    CHECK(finds("six.example", "nameserver 127.0.0.1\n"));
    CHECK(finds("alias.example", "nameserver 127.0.0.1\n"));
    CHECK(finds("api", "nameserver 127.0.0.1\nsearch none.example example\n"));
    // More than a datagram of 512 bytes holds.
    CHECK(finds("many.example", "nameserver 127.0.0.1\n"));
    // Two addresses: the first one leaves time for the second, and so does a silent name server.
    CHECK(finds("two.example", "nameserver 127.0.0.1\n"));
    CHECK(finds("api.example", "nameserver 127.0.0.2\nnameserver 127.0.0.3\nnameserver 127.0.0.1\n"));
    CHECK_THAT(node.trouble("api.example", "nameserver 127.0.0.1\n"), Names("http://api.example:1"));
    CHECK_THAT(node.trouble("none.example", "nameserver 127.0.0.1\n"),
               Names("DNS: looking up \"none.example\": the name is unknown"));
    CHECK_THAT(node.trouble("api.example", "nameserver 127.0.0.2\nnameserver 127.0.0.2\n"),
               Names("DNS: looking up \"api.example\": no name server answered"));
    CHECK_THAT(node.trouble("api.example", "nameserver 127.0.0.3\n"), Names("every name server refuses to answer"));
}

} // namespace rdmanet::test
