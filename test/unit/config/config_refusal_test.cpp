// Which configurations are refused, and that the messages have the fix.
#include "conf.hpp"

#include "support/names.hpp"

#include <rdmanet/cni/error.hpp>

#include <catch2/catch.hpp>

#include <sstream>

using namespace rdmanet::config;
using namespace rdmanet;
using rdmanet::test::Names;

namespace {

/// "CODE MESSAGE". The code of a wrong value is 7, invalid network configuration.
std::string refusal(const std::string& members) {
    try {
        (void)config_with(members);
    } catch (const cni::CniError& error) {
        return std::to_string(error.code()) + " " + error.what();
    } catch (const json::ValueError& error) {
        return std::string("7 ") + error.what();
    }
    return "accepted";
}

struct Case {
    const char* members;
    const char* begins; // "CODE KEY: "
    const char* value;
};

} // namespace

TEST_CASE(
    "the error for a wrong value names the key and the value, with code 2 if the kind of attachment lacks the key") {
    const Case cases[] = {
        // of another type
        {R"("mode": 1)", "7 mode: ", "1"},
        {R"("master": ["eth0"])", "7 master: ", "an array"},
        {R"("mtu": "1400")", "7 mtu: ", "\"1400\""},
        {R"("mtu": 4.7)", "7 mtu: ", "4.7"},
        {R"("mtu": -1)", "7 mtu: ", "-1"},
        {R"("mtu": 1e300)", "7 mtu: ", "1e+300"},
        {R"("mtu": 65536)", "7 mtu: ", "65536"},
        {R"("mtu": 67)", "7 mtu: ", "67"},
        {R"("bcqueuelen": 4294967296)", "7 bcqueuelen: ", "4294967296"},
        {R"("linkInContainer": "true")", "7 linkInContainer: ", "\"true\""},
        {R"("mac": 2)", "7 mac: ", "2"},
        {R"("rdma": "yes")", "7 rdma: ", "\"yes\""},
        {R"("rdma": {"waitForGids": 1})", "7 rdma.waitForGids: ", "1"},
        {R"("rdma": {"gidTimeoutMs": 30001})", "7 rdma.gidTimeoutMs: ", "30001"},
        {R"("logLevel": 3)", "7 logLevel: ", "3"},
        {R"("ipam": {"type": 3})", "7 ipam.type: ", "3"},
        {R"("ipam": {"type": "rdmanet", "range": 7})", "7 ipam.range: ", "7"},
        // not in a list
        {R"("attach": "bridge")", "7 attach: ", "\"bridge\""},
        {R"("mode": true)", "7 mode: ", "true"},
        {R"("attach": "sriov", "trust": true)", "7 trust: ", "true"},
        {R"("attach": "sriov", "spoofchk": false)", "7 spoofchk: ", "false"},
        {R"("attach": "sriov", "link_state": true)", "7 link_state: ", "true"},
        {R"("attach": "ipvlan", "mode": "bridge")", "7 mode: ", "\"bridge\""},
        {R"("attach": "macvlan", "mode": "l2")", "7 mode: ", "\"l2\""},
        {R"("mode": "l2", "flag": "promiscuous")", "7 flag: ", "\"promiscuous\""},
        {R"("defaultRoute": " ")", "7 defaultRoute: ", "\" \""},
        {R"("rdma": {"mode": "both"})", "7 rdma.mode: ", "\"both\""},
        {R"("rdma": {"onInactivePort": "require"})", "7 rdma.onInactivePort: ", "\"require\""},
        {R"("attach": "sriov", "link_state": "disable", "rdma": {"onInactivePort": "refuse"})",
         "7 link_state: ", "\"disable\""},
        {R"("rdma": {"onMissingGid": "fail"})", "7 rdma.onMissingGid: ", "\"fail\""},
        {R"("logLevel": "trace")", "7 logLevel: ", "\"trace\""},
        // of another kind
        {R"("attach": "sriov", "master": "eth1")", "2 master: ", "\"eth1\""},
        {R"("rdma": {"mode": "exclusive"})", "2 rdma: ", "\"shared\""},
        {R"("flag": "vepa")", "2 flag: ", "\"vepa\""},
        {R"("rdma": true, "linkInContainer": true)", "2 rdma: ", "true"},
        {R"("attach": "ipvlan", "bcqueuelen": 10)", "2 bcqueuelen: ", "10"},
        {R"("attach": "ipvlan", "mac": "02:00:00:00:00:01")", "2 mac: ", "\"02:00:00:00:00:01\""},
    };
    for (const auto& [members, begins, value] : cases)
        CHECK_THAT(refusal(members), Catch::StartsWith(begins) && Catch::Contains(value));
}

TEST_CASE("addresses and names that no interface can have are refused") {
    CHECK_THAT(refusal(R"("mac": "02:00:00:00:00")"), Names("7 mac", "02:00:00:00:00"));
    for (const std::string mac : {"01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00"})
        CHECK_THAT(refusal("\"mac\": \"" + mac + "\""), Names("7 mac", "unicast", mac));
    for (const std::string name : {"a/b", "..\\u0000", "a\\nb", "/sys", "\\u001b[31m"})
        CHECK(refusal("\"master\": \"" + name + "\"").starts_with("7 master: "));
    CHECK(refusal("\"master\": \"" + std::string(64, 'x') + "\"").starts_with("7 master: "));
}

TEST_CASE("log files are only accepted below /var/log, because a tenant may write the configuration") {
    std::istringstream paths(
        "rdmanet.log /etc/cron.d/x /var/log /var/log/ /var/log/a/ /var/logs/x /var/log/../x /var/log/.. "
        "/var/log/a/../../../etc/x /tmp/../var/log/x /var/log/wtmp /var/log/journal/x /var/log/pods/a/0.log "
        "/var/log/rdmanet /var/log/rdmanet/ /var/log/rdmanet/.. /var/log/rdmanet/../wtmp "
        "/var/log/rdmanet/a/b /var/log/rdmanet-a/b.log /var/log/rdmanet.log/ /var/log/rdmanet-x "
        "/var/log/rdmanet-x.log/ /var/log//rdmanet.log /var/log/rdmanet/a\\nb");
    for (std::string path; paths >> path;)
        CHECK_THAT(refusal("\"logFile\": \"" + path + "\""),
                   Names("7 logFile", "/var/log/rdmanet.log", "/var/log/rdmanet/"));
    CHECK_THAT(refusal(R"("logFile": 1)"), Names("7 logFile", "string", "1"));
}
