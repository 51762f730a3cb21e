// What each key means.
#include "conf.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

using namespace rdmanet::config;
using namespace rdmanet;
using base::IpvlanFlag;
using base::IpvlanMode;
using base::MacvlanMode;
using rdmanet::test::concat;
using rdmanet::test::Names;

TEST_CASE("an empty configuration means macvlan in bridge mode") {
    const Config config = config_with("");
    REQUIRE(config.is_macvlan());
    CHECK(config.kind() == "macvlan");
    CHECK(std::get<Macvlan>(config.attach) == Macvlan{});
    CHECK_FALSE(config.master);
    CHECK_FALSE(config.link_in_container);
    CHECK_FALSE(config.mtu);
    CHECK_FALSE(config.mac);
    CHECK(config.default_route == DefaultRoute::if_none);
    CHECK(config.rdma.demand == RdmaDemand::if_present);
    CHECK(config.rdma.on_missing_gid == OnMissingGid::warn);
    CHECK(std::holds_alternative<NoIpam>(config.ipam));
    CHECK_FALSE(config.log.file);
    CHECK(config.log.level == base::LogLevel::warning);
    CHECK(config.warnings.empty());
}

TEST_CASE("the mode decides the kind, as in configurations of the macvlan and ipvlan plugins") {
    const auto macvlan = [](const char* members) { return std::get<Macvlan>(config_with(members).attach).mode; };
    CHECK(macvlan(R"("mode": "bridge")") == MacvlanMode::bridge);
    CHECK(macvlan(R"("mode": "private")") == MacvlanMode::private_);
    CHECK(macvlan(R"("mode": "vepa")") == MacvlanMode::vepa);
    CHECK(macvlan(R"("mode": "passthru")") == MacvlanMode::passthru);
    CHECK(macvlan(R"("MODE": "vepa", "Attach": "macvlan")") == MacvlanMode::vepa);

    const auto ipvlan = [](const char* members) { return std::get<Ipvlan>(config_with(members).attach); };
    CHECK(ipvlan(R"("mode": "l2")") == Ipvlan{});
    CHECK(ipvlan(R"("mode": "l3")").mode == IpvlanMode::l3);
    CHECK(ipvlan(R"("mode": "l3s", "flag": "private")") ==
          Ipvlan{.mode = IpvlanMode::l3s, .flag = IpvlanFlag::private_});
    CHECK(ipvlan(R"("attach": "ipvlan")") == Ipvlan{});
    CHECK(ipvlan(R"("attach": "ipvlan", "flag": "vepa")").flag == IpvlanFlag::vepa);
    CHECK(ipvlan(R"("attach": "ipvlan", "flag": "bridge")").flag == IpvlanFlag::bridge);
    CHECK(config_with(R"("mode": "l3")").kind() == "ipvlan");
}

TEST_CASE("other keys are parsed") {
    const Config config =
        config_with(R"("master": "ens1f0np0", "linkInContainer": true, "mtu": 9000, "promisc": true, "allmulti": false,
        "mac": "02-00-00-00-00-0A", "bcqueuelen": 4294967295, "defaultRoute": "never")");
    CHECK(config.master == "ens1f0np0");
    CHECK(config.link_in_container);
    CHECK(config.promiscuous == true);
    CHECK(config.all_multicast == false);
    CHECK(config.mtu == 9000U);
    CHECK(config.mac->to_string() == "02:00:00:00:00:0a");
    CHECK(std::get<Macvlan>(config.attach).broadcast_queue_length == UINT32_MAX);
    CHECK(config.default_route == DefaultRoute::never);
    CHECK(config_with(R"("defaultRoute": "always")").default_route == DefaultRoute::always);
    CHECK(config_with(R"("defaultRoute": "if-none")").default_route == DefaultRoute::if_none);
    CHECK(config_with(R"("mtu": 68)").mtu == 68U);
    CHECK(config_with(R"("mtu": 65535)").mtu == 65535U);
    CHECK(config_with(R"("bcqueuelen": 0)").is_macvlan());
    // A parent may be named by its RDMA device, whose name may be longer than an interface's.
    CHECK(config_with(R"("master": "rocep59s0f0np0_bond_0")").master == "rocep59s0f0np0_bond_0");
    CHECK(config_with(R"("master": ")" + std::string(63, 'x') + "\"").master->size() == 63);
}

TEST_CASE("what a configuration requires of RDMA is parsed") {
    CHECK(config_with(R"("rdma": false)").rdma.demand == RdmaDemand::ignored);
    for (const char* members : {R"("rdma": true)", R"("rdma": {})", R"("rdma": {"mode": "shared"})"}) {
        const RdmaPolicy policy = config_with(members).rdma;
        CHECK(policy.demand == RdmaDemand::required);
        CHECK(policy.wait_for_gids);
        CHECK(policy.gid_timeout == std::chrono::seconds(2));
        CHECK(policy.on_missing_gid == OnMissingGid::refuse);
        CHECK(policy.on_inactive_port == OnInactivePort::warn);
    }
    CHECK(config_with(R"("rdma": {"onInactivePort": "refuse"})").rdma.on_inactive_port == OnInactivePort::refuse);
    const RdmaPolicy policy =
        config_with(R"("rdma": {"waitForGids": false, "gidTimeoutMs": 30000, "onMissingGid": "warn"})").rdma;
    CHECK_FALSE(policy.wait_for_gids);
    CHECK(policy.gid_timeout == std::chrono::seconds(30));
    CHECK(policy.on_missing_gid == OnMissingGid::warn);
    CHECK(config_with(R"("rdma": {"onMissingGid": "refuse", "gidTimeoutMs": 0})").rdma.gid_timeout.count() == 0);
}

TEST_CASE("addresses come from nowhere, from rdmanet or from another plugin") {
    CHECK(std::holds_alternative<NoIpam>(config_with(R"("ipam": {"subnet": "10.0.0.0/24"})").ipam));
    CHECK(std::get<DelegatedIpam>(config_with(R"("ipam": {"type": "host-local", "x": 1})").ipam).plugin ==
          "host-local");
    const Config config = config_with(R"("ipam": {"type": "rdmanet", "range": "10.0.0.0/24", "typo": 1})");
    CHECK(std::get<ipam::Config>(config.ipam).ranges.size() == 1);
    CHECK(config.warnings.size() == 1); // the allocator's belong to the configuration
}

TEST_CASE("words match without regard to case") {
    CHECK(config_with(R"("attach": "MacVLAN", "mode": "Private")").kind() == "macvlan");
    CHECK(config_with(R"("mode": "L3")").kind() == "ipvlan");
    CHECK(parse_log_target(conf_with(R"("logLevel": "Debug")")).level == base::LogLevel::debug);
    const Config vf = config_with(R"("deviceID": "0000:3b:00.2", "spoofchk": "ON", "trust": "Off", "link_state": "Auto",
        "vlan": 5, "vlanProto": "802.1AD")");
    const auto& settings = std::get<Sriov>(vf.attach).settings;
    CHECK(settings.spoof_check == true);
    CHECK(settings.trust == false);
    CHECK(settings.link_state == base::VfLinkState::automatic);
    CHECK(settings.vlan->protocol == base::VlanProtocol::dot1ad);
}

TEST_CASE("null and an empty text mean an absent key, as for the reference plugins") {
    for (const char* members : {R"("attach": "", "mode": "", "flag": "", "mac": "", "pkey": "", "defaultRoute": "",
        "master": "", "logFile": "", "logLevel": "", "vlanProto": "", "trust": "", "device": "", "hwaddr": "",
        "kernelpath": "", "deviceID": "")",
                                R"("master": null, "mac": null, "mtu": 0, "mode": null, "attach": null, "ipam": {},
        "linkInContainer": null, "rdma": null, "defaultRoute": null, "bcqueuelen": null, "flag": null)"}) {
        const Config config = config_with(members);
        CHECK(std::get<Macvlan>(config.attach) == Macvlan{});
        CHECK_FALSE(config.master);
        CHECK_FALSE(config.mac);
        CHECK_FALSE(config.mtu);
        CHECK_FALSE(config.log.file);
        CHECK(config.log.level == base::LogLevel::warning);
        CHECK(config.default_route == DefaultRoute::if_none);
        CHECK(config.rdma.demand == RdmaDemand::if_present);
    }
    const Config vf = config_with(R"("deviceID": "0000:3b:00.2", "spoofchk": "", "trust": "", "link_state": "",
        "vlan": 5, "vlanProto": "", "mode": "", "master": "", "flag": "")");
    CHECK_FALSE(std::get<Sriov>(vf.attach).settings.trust);
    CHECK(std::holds_alternative<Ipvlan>(config_with(R"("attach": "ipvlan", "mac": "", "mode": "")").attach));
}

TEST_CASE("a whole function may be named by two keys, and also by a device plugin's ID that is not an address") {
    const auto device = [](const char* members) { return config_with(members).device; };
    CHECK(device(R"("device": "eth1", "deviceID": "0000:3b:00.0", "pciBusID": "0000:3b:00.0")")->to_string() ==
          "0000:3b:00.0");
    CHECK_FALSE(device(R"("device": "eth1", "deviceID": "0", "pciBusID": "0")"));
    const char* path = R"("kernelpath": "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0", "deviceID": )";
    CHECK(device(concat(path, R"("0000:3b:00.0")").c_str())->to_string() == "0000:3b:00.0");
    CHECK_THROWS_WITH(config_with(concat(path, R"("0000:3b:00.1")").c_str()),
                      Names("deviceID", "kernelpath", "0000:3b:00.0", "0000:3b:00.1"));
}

TEST_CASE("the log goes to standard error unless a file is named, and a file gets lower levels too") {
    const auto log = [](const char* members) { return parse_log_target(conf_with(members)); };
    CHECK(log(R"("logLevel": "debug")").level == base::LogLevel::debug);
    CHECK(log(R"("logFile": "/var/log/rdmanet.log")").level == base::LogLevel::info);
    CHECK(log(R"("logFile": "/var/log/rdmanet.log")").file == "rdmanet.log");
    CHECK(log(R"("logFile": "/var/log/rdmanet-vf.log")").file == "rdmanet-vf.log");
    CHECK(log(R"("logFile": "/var/log/rdmanet/vf")").file == "rdmanet/vf");
    CHECK(log(R"("logFile": "/var/log/rdmanet.log", "logLevel": "error")").level == base::LogLevel::error);
    const std::pair<const char*, base::LogLevel> levels[] = {
        {"panic", base::LogLevel::error}, {"error", base::LogLevel::error},  {"warning", base::LogLevel::warning},
        {"info", base::LogLevel::info},   {"verbose", base::LogLevel::info}, {"debug", base::LogLevel::debug}};
    for (const auto& [name, level] : levels)
        CHECK(log(("\"logLevel\": \"" + std::string(name) + "\"").c_str()).level == level);
}

TEST_CASE("keys of rdmanet, the specification and callers produce no warning, in any case of letters") {
    CHECK(config_with(R"("attach": "macvlan", "Master": "eth1", "mode": "bridge", "mtu": 0, "MAC": "", "bcqueuelen": 0,
        "linkInContainer": false, "defaultRoute": "never", "dns": {"nameservers": [], "domain": "", "search": [],
        "options": []}, "logFile": "/var/log/rdmanet.log", "logLevel": "info", "ipam": {"type": "host-local", "subnet": "x"},
        "rdma": {"mode": "shared", "waitForGids": true, "gidTimeoutMs": 1, "onMissingGid": "warn",
        "onInactivePort": "warn"})")
              .warnings.empty());
    CHECK(config_with(R"("attach": "ipvlan", "mode": "l2", "flag": "vepa")").warnings.empty());
    CHECK(config_with(R"("capabilities": {"ips": true}, "runtimeConfig": {"mac": 7}, "args": {}, "cniVersions": [],
        "master": "eth1", "deviceID": "0000:3b:00.2", "pciBusID": "0000:3b:00.2", "resourceName": "rdma/hca",
        "k8s.v1.cni.cncf.io/resourceName": "rdma/hca", "disableCheck": "true", "disableGC": true,
        "loadOnlyInlinedPlugins": true, "cni.dev/valid-attachments": null, "cni.dev/later": 1, "$comment": "x")")
              .warnings.empty());
}

TEST_CASE("unknown keys produce a warning that suggests a known key") {
    struct Row {
        const char* members;
        const char* key;
        const char* suggestion; // empty: none
    };
    const Row rows[] = {
        {R"("mater": "eth1")", "mater", R"("master")"},
        {R"("MTUs": 5)", "MTUs", R"("mtu")"},
        {R"("bridgeName": "br0")", "bridgeName", ""},
        {R"("cni.dev/": 1)", "cni.dev/", ""},
        {R"("rdma": {"onMissingGids": "warn"})", "rdma.onMissingGids", R"("onMissingGid")"},
        {R"("dns": {"searches": []})", "dns.searches", R"("search")"},
    };
    for (const auto& [members, key, suggestion] : rows) {
        const auto warnings = config_with(members).warnings;
        REQUIRE(warnings.size() == 1);
        CHECK_THAT(warnings.front(), Names(key, "unknown key", suggestion));
        if (*suggestion == '\0') CHECK_THAT(warnings.front(), !Catch::Contains("\""));
    }
    const auto no_type = config_with(R"("ipam": {"range": "10.0.0.0/24"})").warnings;
    REQUIRE(no_type.size() == 1);
    CHECK_THAT(no_type.front(), Names("ipam", "\"type\"", R"("type": "rdmanet")"));
}

TEST_CASE("keys of peers that rdmanet does not support produce a warning") {
    for (const char* key :
         {"vlan", "vlanId", "vlanQoS", "vlanProto", "spoofchk", "trust", "link_state", "min_tx_rate", "max_tx_rate",
          "rdmaIsolation", "vfioPciMode", "sysctl", "promiscMode", "txQLen", "ipMasq"}) {
        INFO(key);
        const auto warnings_of = [&](const char* value) {
            return config_with(std::string("\"master\": \"eth1\", \"") + key + "\": " + value).warnings;
        };
        REQUIRE(warnings_of("5").size() == 1);
        CHECK_THAT(warnings_of("5").front(), Catch::StartsWith(std::string(key) + ": ignored, "));
        for (const char* nothing : {"false", "0", R"("")", "{}", "[]", "null"}) CHECK(warnings_of(nothing).empty());
    }
}

TEST_CASE("a VF's address as the device means that the pod gets the VF, unless a parent or a mode is named") {
    for (const char* members :
         {R"("deviceID": "0000:3B:00.2")", R"("pciBusID": "0000:3b:00.2")",
          R"("runtimeConfig": {"deviceID": "0000:3b:00.2"}, "deviceID": "0000:00:00.0")",
          R"("attach": "sriov", "deviceID": "0000:3b:00.2")", R"("deviceID": "", "pciBusID": "0000:3b:00.2")"}) {
        INFO(members);
        const Config config = config_with(members);
        CHECK(config.kind() == "sriov");
        REQUIRE(config.device);
        CHECK(config.device->to_string() == "0000:3b:00.2");
        CHECK(config.warnings.empty());
    }
    for (const char* members : {R"("deviceID": "0000:3b:00.2", "master": "eth1")", R"("deviceID": "hca-7")",
                                R"("deviceID": 5)", R"("deviceID": "0000:3b:00.2", "mode": "bridge")"}) {
        INFO(members);
        CHECK(config_with(members).is_macvlan());
        CHECK_FALSE(config_with(members).device);
    }
    CHECK_FALSE(config_with(R"("attach": "sriov")").device); // STATUS has no device
}

TEST_CASE("absent and empty settings of a VF stay as they are") {
    const auto settings = [](const std::string& members) {
        return std::get<Sriov>(config_with("\"attach\": \"sriov\"" + members).attach).settings;
    };
    CHECK(settings("").empty());
    CHECK(settings(R"(, "spoofchk": "", "trust": "", "link_state": "", "vlan": null)").empty());
    const auto all = settings(R"(, "vlan": 100, "vlanQoS": 3, "vlanProto": "802.1AD", "spoofchk": "off", "trust": "on",
        "link_state": "enable", "min_tx_rate": 10, "max_tx_rate": 200)");
    CHECK(all.vlan == base::VfVlan{.id = 100, .qos = 3, .protocol = base::VlanProtocol::dot1ad});
    CHECK(all.rates == base::VfRates{.least_mbps = 10, .most_mbps = 200});
    CHECK(all.spoof_check == false);
    CHECK(all.trust == true);
    CHECK(all.link_state == base::VfLinkState::enable);
    CHECK(settings(R"(, "vlan": 0)").vlan == base::VfVlan{});
    CHECK(settings(R"(, "max_tx_rate": 200)").rates == base::VfRates{.most_mbps = 200});
}

TEST_CASE("two keys of rdmanet and one of ib-sriov-cni decide whether the RDMA device moves into the pod") {
    const auto policy = [](const std::string& members) { return config_with("\"attach\": \"sriov\"" + members).rdma; };
    CHECK_FALSE(policy("").isolation);
    CHECK_FALSE(policy(R"(, "rdma": true)").isolation);
    CHECK(policy(R"(, "rdma": {"mode": "exclusive"})").isolation == true);
    CHECK(policy(R"(, "rdma": {"mode": "shared"})").isolation == false);
    CHECK(policy(R"(, "rdma": {"isolation": true})").isolation == true);
    CHECK(policy(R"(, "rdmaIsolation": true)").isolation == true);
    CHECK(policy(R"(, "rdmaIsolation": true)").demand == RdmaDemand::required);
    CHECK(policy(R"(, "rdmaIsolation": false)").isolation == false);
}

TEST_CASE("a configuration of host-device names a function by one of its keys") {
    CHECK(config_with(R"("device": "eth1")").kind() == "host-device");
    CHECK(std::get<HostDevice>(config_with(R"("device": "eth1")").attach).name == "eth1");
    CHECK(std::get<HostDevice>(config_with(R"("hwaddr": "02:00:00:00:00:01")").attach).hwaddr ==
          base::MacAddress::parse("02:00:00:00:00:01"));
    CHECK(config_with(R"("kernelpath": "/sys/devices/pci0000:00/0000:00:1f.6")").device->to_string() == "0000:00:1f.6");
    const Config subfunction = config_with(R"("attach": "host-device", "deviceID": "mlx5_core.sf.4")");
    CHECK(subfunction.device->bus() == base::Bus::auxiliary);
    CHECK(subfunction.device->to_string() == "mlx5_core.sf.4");
}

TEST_CASE("attach \"rdma\" always moves the RDMA device") {
    const Config config = config_with(R"("attach": "rdma")");
    CHECK(config.is_rdma_only());
    CHECK(config.rdma.isolation == true);
    CHECK(config.rdma.demand == RdmaDemand::required);
}

TEST_CASE("the partition of an IPoIB child is parsed in each spelling") {
    const auto pkey = [](const std::string& value) {
        return std::get<Ipoib>(config_with("\"attach\": \"ipoib\", \"pkey\": " + value).attach).pkey;
    };
    CHECK(pkey("\"0x8001\"") == 0x8001);
    CHECK(pkey("\"0X1\"") == 1);
    CHECK(pkey("\"32769\"") == 0x8001);
    CHECK(pkey("32769") == 0x8001);
    CHECK_FALSE(pkey("\"\""));
    CHECK(std::get<Ipoib>(config_with(R"("attach": "ipoib", "mode": "connected")").attach).mode ==
          base::IpoibMode::connected);
}
