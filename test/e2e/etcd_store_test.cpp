// Leases in etcd: those with the tag [etcd] are run by test/cluster/etcd.sh.
#include "attachment_stage.hpp"
#include "cluster_stage.hpp"
#include "etcd_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <fstream>

namespace rdmanet::test {

using namespace std::chrono_literals;

TEST_CASE("a range with leases in the node's own store goes to etcd only if the network names it or etcd has it",
          "[etcd]") {
    NEEDS(etcd_lacks().empty(), etcd_lacks());
    const std::string prefix = "/rdmanet/e2e-stay";
    const Stage stage;
    const std::string range = "'range':'10.41.9.0/24'";
    const PluginCall old = call_for(stage.pod, concat("'master':'par0',", ipam("10.41.9.0/24")));
    const std::string result = add(old);
    PluginCall named = of(etcd_call(stage.pod, prefix, range), "c2");
    named.ifname = "net2";
    PluginCall open = of(named, "c3");
    open.config = replaced(open.config, R"("store":"etcd",)", "");
    open.ifname = "net3";
    const ProcessResult stays = open.run();
    CHECK(addresses(stays.out) == "10.41.9.2/24");
    CHECK_THAT(complaints(stays.err), Names("range 10.41.9.0/24 stays in the store of this node, which has 1 lease",
                                            "delete the pods of the range on this node"));
    CHECK_THAT(complaints(open.with_command("STATUS").run().err), Names("10.41.9.0/24 stays"));
    CHECK(etcd_keys(prefix) == "");
    CHECK_THAT(refusal(named), Names("10.41.9.0/24 has 2 leases in the store of this node"));
    CHECK(check(open, stays.out) == "");
    CHECK(del(open) == "");

    // Another node records the range.
    shell(concat(
        "curl --silent --fail ", etcd_endpoint(), R"(/v3/kv/put -d '{"key":"'$(printf )", prefix,
        R"(/-/r/010.041.009.000-24 | base64 -w0)'","value":"'$(printf '{"version":1,"store":"etcd"}' | base64 -w0)'"}')"));
    CHECK_THAT(refusal(open), Names("10.41.9.0/24 has 1 lease in the store of this node"));
    CHECK(del(old) == "");
    CHECK_THAT(addresses(add(open)), Catch::StartsWith("10.41.9."));
    CHECK_THAT(etcd_keys(prefix), Names("/c3/net3/"));
    CHECK(del(open) == "");
    CHECK(etcd_keys(prefix) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("an ADD takes its addresses from etcd, and DEL gives them back", "[etcd]") {
    NEEDS(etcd_lacks().empty(), etcd_lacks());
    const std::string prefix = "/rdmanet/e2e-add";
    const Stage stage;
    const PluginCall call = etcd_call(
        stage.pod, prefix,
        "'range':'10.41.0.8/30','ipRanges':[{'range':'fd41::/64','range_start':'fd41::7','range_end':'fd41::7'}]");
    CHECK(outcome(call, "STATUS") == "");
    const std::string result = add(call);
    CHECK(addresses(result).starts_with("10.41.0."));
    CHECK(addresses(result).ends_with("/30 fd41::7/64"));
    CHECK(etcd_keys(prefix) ==
          concat(replaced("/rdmanet/e2e-add/-/a/010.041.000.009\n", "009",
                          addresses(result).substr(8, 1) == "9" ? "009" : "010"),
                 "/rdmanet/e2e-add/-/a/[fd41:0000:0000:0000:0000:0000:0000:0007]\n/rdmanet/e2e-add/-/o/net/c1/net1/0\n"
                 "/rdmanet/e2e-add/-/o/net/c1/net1/1\n",
                 "/rdmanet/e2e-add/@nodes/", machine_id(), "/shop/till/net/net1/c1/-/0\n/rdmanet/e2e-add/@nodes/",
                 machine_id(), "/shop/till/net/net1/c1/-/1\n"));
    CHECK(check(call, result) == "");
    CHECK_THAT(shell(binary() + " state"), Names("shop/till", "fd41::7"));
    CHECK(run_process({binary(), "check"}).exit_status == 0);
    PluginCall second = of(call, "c2");
    second.ifname = "net2";
    CHECK_THAT(refusal(second), Names("fd41::/64", "1 lease"));
    CHECK(outcome(call, "STATUS") == ""); // as it was a moment ago
    shell("rm /run/rdmanet/range-verdict-*");
    CHECK_THAT(outcome(call, "STATUS"), Names("code 50", "fd41::/64"));
    CHECK(del(after(call, result)) == "");
    CHECK(etcd_keys(prefix) == "");
    CHECK(del(call) == "");
    CHECK_THAT(run_process({binary(), "plan", "--name", "net"}, {.input = call.config}).out,
               Names("\"etcd\"", etcd_endpoint(), "\"store\" of the network", "2 of 2"));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a network of another type has its addresses in etcd, and so do static ones", "[etcd]") {
    NEEDS(etcd_lacks().empty(), etcd_lacks());
    const std::string prefix = "/rdmanet/e2e-ipam";
    const Stage stage;
    PluginCall call = etcd_call(stage.pod, prefix, "'addresses':[{'address':'10.42.0.5/24'}]");
    call.config = replaced(call.config, R"("type":"rdmanet","master")", R"("type":"macvlan","master")");
    CHECK(addresses(add(call)) == "10.42.0.5/24");
    CHECK(addresses(add(call)) == "10.42.0.5/24"); // repeated
    CHECK_THAT(refusal(of(call, "c2")), Names("10.42.0.5", "shop/till"));
    CHECK(check(call, R"({"cniVersion":"1.1.0","ips":[{"address":"10.42.0.5/24"}]})") == "");
    CHECK(del(call) == "");
    CHECK(etcd_keys(prefix) == "");
    CHECK(records_left() == "");
}

TEST_CASE("an etcd that is away owes nobody an interface: DEL succeeds, and gc gives the address back later",
          "[etcd]") {
    NEEDS(etcd_lacks().empty(), etcd_lacks());
    const std::string prefix = "/rdmanet/e2e-away";
    Stage stage;
    const PluginCall call = etcd_call(stage.pod, prefix, "'range':'10.43.0.0/24'");
    const std::string result = add(call);
    move_records(etcd_endpoint(), kNoEtcd);
    CHECK_THAT(check(call, result), Names("code 11", kNoEtcd, "TCP", "tried for"));
    CHECK(del(call) == "");
    CHECK_FALSE(stage.pod.succeeds("ip link show net1"));
    CHECK(records_left() != "");
    CHECK(etcd_keys(prefix) != "");
    CHECK_THAT(refusal(call), Names("code 11"));
    move_records(kNoEtcd, etcd_endpoint());
    stage.pod.destroy();
    shell(binary() + " gc");
    CHECK(etcd_keys(prefix) == "");
    CHECK(records_left() == "");
}

TEST_CASE("an ADD waits once for an etcd that goes silent, and leaves what it may owe to a later call", "[etcd]") {
    NEEDS(etcd_lacks().empty(), etcd_lacks());
    const std::string prefix = "/rdmanet/e2e-silent";
    const Stage stage;
    const PluginCall call = etcd_call(stage.pod, prefix, "'range':'10.50.0.0/24'");
    (void)add(call); // a warm node: the next ADD begins with its claim
    CHECK(del(call) == "");
    {
        const StoppedEtcd stopped;
        const auto begun = std::chrono::steady_clock::now();
        CHECK_THAT(refusal(call), Names("code 11", etcd_endpoint(), "HTTP: no answer"));
        CHECK(std::chrono::steady_clock::now() - begun < 30s); // of which it needs 5
    }
    CHECK(records_left() != "");
    CHECK(del(call) == "");
    shell(binary() + " gc");
    CHECK(records_left() == "");
    CHECK(etcd_keys(prefix) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("who pays many debts to one etcd has one connection, and waits once for a silent one", "[etcd]") {
    NEEDS(etcd_lacks().empty(), etcd_lacks());
    const std::string prefix = "/rdmanet/e2e-debts";
    const Stage stage;
    const PluginCall call = etcd_call(stage.pod, prefix, "'range':'10.51.0.0/24'");
    for (int number = 1; number <= 3; ++number) {
        PluginCall one = of(call, concat("c", number));
        one.ifname = concat("net", number);
        (void)add(one);
        move_records(etcd_endpoint(), kNoEtcd);
        CHECK(del(one) == "");
        move_records(kNoEtcd, etcd_endpoint());
    }
    {
        const EtcdLine line;
        move_records(etcd_endpoint(), line.url());
        {
            const StoppedEtcd stopped;
            CHECK_THAT(run_process({binary(), "gc"}).out, Names(line.url(), "no answer"));
        }
        CHECK(line.connections() == 1);
        move_records(line.url(), etcd_endpoint());
    }
    const EtcdLine line;
    move_records(etcd_endpoint(), line.url());
    shell(binary() + " gc");
    CHECK(records_left() == "");
    CHECK(etcd_keys(prefix) == "");
    CHECK(line.connections() == 1);
    CHECK(stage.node.difference() == "");
}

TEST_CASE("an etcd that was never there is named, with what failed, and DEL leaves only what it may owe", "[ipam]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    Stage stage;
    const PluginCall call = etcd_call(stage.pod, "/rdmanet", "'range':'10.44.0.0/24'", kNoEtcd);
    CHECK_THAT(refusal(call), Names("code 11", kNoEtcd, "TCP", "connection refused", "tried for"));
    const ProcessResult status = call.with_command("STATUS").run();
    CHECK(status.exit_status == 0);
    CHECK_THAT(status.err, Names("not known whether", kNoEtcd, "connection refused"));
    CHECK(del(call) == "");
    CHECK(records_left() != "");
    stage.pod.destroy();
    shell(binary() + " gc --forget c1 net1");
    CHECK(records_left() == "");
}

TEST_CASE("the node's file says how to reach etcd, with a user and certificates, and no secret is said", "[etcd]") {
    NEEDS(etcd_lacks().empty(), etcd_lacks());
    const std::string file = "/run/etcd-node.conf";
    const auto write_file = [&](const std::string& user) {
        const std::string secure = etcd() + "/secure/";
        std::ofstream(file) << json_text(concat(
            "{'nodeName':'n1','store':'etcd','etcd':{'endpoints':['", shell("tr -d '\\n' <" + secure + "endpoints"),
            "'],'ca':'", secure, "ca.crt','cert':'", secure, "client.crt','key':'", secure, "client.key','username':'",
            user, "','passwordFile':'", secure, "rdmanet.password','prefix':'/rdmanet/e2e-users'}}"));
    };
    Stage stage;
    PluginCall call = call_for(stage.pod, concat("'master':'par0','ipam':{'type':'rdmanet','range':'10.45.0.0/24',"
                                                 "'configuration_path':'",
                                                 file, "'}"));
    write_file("reader"); // whose password is another one
    const ProcessResult refused = call.run();
    CHECK_THAT(error_of(refused), Names("code 109", "invalid user ID or password", "reader", "etcd.passwordFile"));
    CHECK((refused.out + refused.err).find("secret") == std::string::npos);
    write_file("rdmanet");
    CHECK(addresses(add(call)).starts_with("10.45.0."));
    CHECK(shell("grep -r -l 'secret of' /run/rdmanet || true") == "");
    CHECK(shell("stat --format %a /run/rdmanet/etcd-* | sort -u") == "600\n");
    shell("sed -i s/rdmanet.password/no.password/ /run/rdmanet/attachments/*.json");
    const ProcessResult owing = call.with_command("DEL").run();
    CHECK(owing.exit_status == 0);
    CHECK_THAT(owing.err, Names("still leased", "no.password", "`rdmanet gc`", "etcd is gone for good", "--forget") &&
                              !Catch::Contains("kubeconfig"));
    shell(concat("sed -i s/no.password/rdmanet.password/ /run/rdmanet/attachments/*.json; ", binary(), " gc"));
    CHECK(records_left() == "");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
    shell("rm " + file);
}

TEST_CASE("a node that reboots gives back what its pods had, at the first ADD of the boot", "[etcd]") {
    NEEDS(etcd_lacks().empty(), etcd_lacks());
    const std::string prefix = "/rdmanet/e2e-boot";
    const Stage stage;
    const PluginCall call = etcd_call(stage.pod, prefix, "'range':'10.49.0.0/30'");
    (void)add(call);
    // Another boot of the same machine: the journal is empty, and the kernel says another boot id.
    shell("ip netns exec pod ip link delete net1; rm -r /run/rdmanet/attachments /run/rdmanet/etcd-*");
    shell("cat /proc/sys/kernel/random/uuid >/run/other-boot && "
          "mount --bind /run/other-boot /proc/sys/kernel/random/boot_id");
    CHECK_THAT(refusal(of(etcd_call(stage.pod, prefix, "'range':'10.49.0.0/30'", kNoEtcd), "c2")),
               Names("code 11", kNoEtcd));
    const PluginCall next = of(call, "c2");
    const ProcessResult added = next.run();
    CHECK(added.exit_status == 0);
    CHECK_THAT(added.err, Names("started anew", "1 address"));
    CHECK(etcd_keys(prefix).find("/c1/") == std::string::npos);
    CHECK(del(next) == "");
    shell("umount /proc/sys/kernel/random/boot_id");
    CHECK(etcd_keys(prefix) == "");
}

} // namespace rdmanet::test
