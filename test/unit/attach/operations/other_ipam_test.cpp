// Addresses from another IPAM plugin.
#include "scenes.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <rdmanet/base/file.hpp>

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

using namespace rdmanet;
using namespace rdmanet::attach::test;
using rdmanet::test::concat;
using rdmanet::test::Names;

namespace {

/// An IPAM plugin that writes down its calls. `answer` is shell that ends an ADD or a DEL.
void install_plugin(Rig& rig, const std::string& name, const std::string& answer) {
    rig.plugins = rig.directory;
    const std::string path = concat(rig.directory, '/', name);
    base::write_file_durably(path, concat("#!/bin/sh\nread -r input\necho ", name,
                                          " $CNI_COMMAND $CNI_NETNS \"$input\" >>", rig.directory, "/calls\n", answer));
    REQUIRE(::chmod(path.c_str(), 0700) == 0);
}

std::string take_calls(const Rig& rig) {
    const std::string path = rig.directory + "/calls";
    std::string calls = base::read_file_if_exists(path, 100'000).value_or("");
    base::remove_file_durably(path);
    return calls;
}

std::size_t count(const std::string& text, const std::string& words) {
    std::size_t found = 0;
    for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
    return found;
}

constexpr const char* kGivesAddress =
    R"([ $CNI_COMMAND = ADD ] && echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.0.7/24"}],
"dns": {"nameservers": ["10.9.0.53"]}}'
exit 0)";

} // namespace

TEST_CASE("another IPAM plugin gets its DEL with the configuration of its ADD, before the interface goes") {
    Rig rig(plain(R"(, "ipam": {"type": "one", "key": "first"})"));
    install_plugin(rig, "one", kGivesAddress);
    install_plugin(rig, "two", kGivesAddress);
    REQUIRE(rig.add() == "");
    CHECK_THAT(take_calls(rig), Catch::StartsWith(concat("one ADD ", kPodPath)) && Catch::Contains("first"));
    CHECK(rig.check() == "");
    CHECK_THAT(take_calls(rig), Catch::StartsWith("one CHECK") && Catch::Contains("first"));
    rig.members = plain(R"(, "ipam": {"type": "two", "key": "second"})");
    // Of another plugin the present configuration is of no use.
    install_plugin(rig, "one", R"(echo '{"code": 7, "msg": "not now"}'; exit 1)");
    CHECK_THAT(rig.del(), Names("\"one\"", "not now"));
    std::string calls = take_calls(rig);
    CHECK(count(calls, "DEL") == 1);
    CHECK_THAT(calls, Catch::StartsWith(concat("one DEL ", kPodPath)) && Catch::Contains("first") &&
                          !Catch::Contains("second"));
    // Of the same plugin it may be the corrected one.
    rig.members = plain(R"(, "ipam": {"type": "one", "key": "second"})");
    install_plugin(rig, "one", R"(case "$input" in *first*) echo '{"code": 7, "msg": "not now"}'; exit 1; esac)");
    CHECK(rig.del() == "");
    calls = take_calls(rig);
    CHECK(count(calls, "first") == 1);
    CHECK(count(calls, "second") == 1);
    CHECK(rig.records().empty());
}

TEST_CASE(
    "a rollback calls DEL of the other IPAM plugin while the interface is there, and a refusal is the last word") {
    Rig rig(plain(R"(, "ipam": {"type": "one"})"));
    install_plugin(rig, "one", R"(echo '{"code": 7, "msg": "no range"}'; exit 1)");
    CHECK_THAT(rig.add(), Names("no range"));
    CHECK_THAT(take_calls(rig), Catch::Contains("one ADD") && Catch::Contains(concat("one DEL ", kPodPath)));
    CHECK(rig.records().size() == 1); // for the runtime's DEL
    CHECK(rig.del() == "");
    CHECK(count(take_calls(rig), "DEL") == 1);
    CHECK(rig.records().empty());
    install_plugin(rig, "one", "echo '{}'");
    CHECK_THAT(rig.add(), Names("\"one\"", "no address"));
    CHECK(rig.records().empty());
}

TEST_CASE("another IPAM plugin gets every command, and its failures are reported") {
    Rig rig(plain(R"(, "ipam": {"type": "one"})"));
    CHECK_THAT(rig.add(), Names("code 106", "\"one\"", "CNI_PATH"));
    CHECK(rig.records().empty()); // a plugin that never ran holds nothing
    install_plugin(rig, "one", kGivesAddress);
    REQUIRE(rig.add() == "");
    CHECK(rig.result->dns.nameservers.front() == "10.9.0.53");
    rig.wanted_by_runtime = R"({"containerID": "c1", "ifname": "net1"})";
    CHECK((rig.check() + rig.status() + rig.gc()).empty());
    const std::string calls = take_calls(rig);
    for (const char* command : {"one ADD", "one CHECK", "one STATUS", "one GC"}) CHECK(count(calls, command) == 1);
    install_plugin(rig, "one", R"([ $CNI_COMMAND = DEL ] || { echo '{"code": 51, "msg": "pool is gone"}'; exit 1; })");
    CHECK_THAT(rig.check(), Names("code 51", "\"one\"", "CHECK", "pool is gone"));
    CHECK_THAT(rig.status(), Names("code 51", "\"one\"", "STATUS", "pool is gone"));
    CHECK_THAT(rig.gc(), Names("\"one\"", "GC", "pool is gone"));
    (void)take_calls(rig);
    // Neither the pod's namespace nor a record is needed.
    rig.machine.end_netns(rig.pod);
    CHECK((rig.del() + rig.del()).empty());
    CHECK(count(take_calls(rig), "one DEL") == 2);
    rig.pod = rig.machine.add_netns(kPodPath);
    rig.members += R"(, "dns": {"nameservers": ["192.0.2.53"]})";
    install_plugin(rig, "one", kGivesAddress);
    REQUIRE(rig.add() == "");
    CHECK(rig.result->dns.nameservers == std::vector<std::string>{"192.0.2.53"});
}

TEST_CASE("if the kernel refuses what another IPAM plugin gave, the plugin gets DEL and nothing is left") {
    Rig rig(plain(R"(, "ipam": {"type": "one"})"));
    install_plugin(rig, "one", kGivesAddress);
    const std::string before = rig.machine.text();
    rig.machine.fails = [](std::size_t, const std::string& what) { return what.starts_with("add 10.9") ? EIO : 0; };
    CHECK_THAT(rig.add(), Names("\"net1\"", "input/output error"));
    CHECK(count(take_calls(rig), "one DEL") == 1);
    CHECK(rig.machine.text() == before);
    CHECK(rig.records().empty());
}

TEST_CASE("GC of the runtime removes an unreadable record that it does not list, and GC of a person names it") {
    Rig rig(plain(R"(, "ipam": {"type": "one"})"));
    install_plugin(rig, "one", kGivesAddress);
    REQUIRE(rig.add() == "");
    rig.machine.end_netns(rig.pod);
    const std::string record = std::filesystem::directory_iterator(rig.directory + "/attachments")->path();
    std::filesystem::resize_file(record, 100);
    const std::string left = rig.gc_of_node();
    CHECK_THAT(left, Names("cannot be read", "DEL of", "\"net\"", concat("`rdmanet gc --forget ", record, "`")));
    const auto is_kept_by_gc = [&](const char* network, std::optional<std::string> listed) {
        rig.network = network;
        rig.wanted_by_runtime = std::move(listed);
        CHECK(rig.gc() == "");
        return std::filesystem::exists(record);
    };
    CHECK(is_kept_by_gc("other", ""));
    CHECK(is_kept_by_gc("net", R"({"containerID": "c1", "ifname": "net1"})"));
    CHECK(is_kept_by_gc("net", std::nullopt));
    (void)take_calls(rig);
    CHECK_FALSE(is_kept_by_gc("net", ""));
    CHECK(count(take_calls(rig), "one DEL") == 1);
    CHECK(rig.gc_of_node() == "");
}
