#include "support/names.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/cni/request.hpp>

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>

using namespace rdmanet;
using cni::Command;
using rdmanet::test::Names;

namespace {

using Variables = std::map<std::string, std::string>;

cni::Environment environment_of(const Variables& variables) {
    return [&variables](const char* name) -> const char* {
        const auto variable = variables.find(name);
        return variable == variables.end() ? nullptr : variable->second.c_str();
    };
}

Variables complete() {
    return {
        {"CNI_CONTAINERID", "c1"}, {"CNI_NETNS", "/run/netns/p"}, {"CNI_IFNAME", "net1"}, {"CNI_PATH", "/opt/cni/bin"}};
}

const char* const kConf = R"({"cniVersion": "1.1.0", "name": "roce", "type": "rdmanet"})";

cni::Request request_of(Command command, const Variables& variables, const std::string& conf = kConf) {
    return cni::parse_request(command, environment_of(variables), conf);
}

/// "CODE MESSAGE".
std::string refusal(Command command, const Variables& variables, const std::string& conf = kConf) {
    try {
        (void)request_of(command, variables, conf);
    } catch (const cni::CniError& error) {
        return std::to_string(error.code()) + " " + error.what();
    }
    return "accepted";
}

Variables with(const std::string& name, const std::string& value) {
    Variables variables = complete();
    variables[name] = value;
    return variables;
}

} // namespace

TEST_CASE("a complete request is parsed") {
    Variables variables = with("CNI_ARGS", "IgnoreUnknown=1;K8S_POD_NAME=p");
    variables["CNI_NETNS_OVERRIDE"] = "True";
    const cni::Request request = request_of(Command::add, variables);
    CHECK(request.container_id == "c1");
    CHECK(request.ifname().to_string() == "net1");
    CHECK(request.netns_path == "/run/netns/p");
    CHECK(request.args.pod_name == "p");
    CHECK(request.args_text == "IgnoreUnknown=1;K8S_POD_NAME=p");
    CHECK(request.path_text == "/opt/cni/bin");
    CHECK(request.netns_override);
    CHECK(request.conf.name == "roce");
    CHECK(request.stdin_text == kConf);
}

TEST_CASE("commands are upper case and exact") {
    const auto command = [](const char* text) { return cni::parse_command([text](const char*) { return text; }); };
    CHECK(command("ADD") == Command::add);
    CHECK(command("STATUS") == Command::status);
    CHECK(cni::to_string(command("GC")) == "GC");
    CHECK_THROWS_WITH(command("add"),
                      Names("CNI_COMMAND", "\"add\"", "ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION"));
    CHECK_THROWS_WITH(command(""), Names("[CNI_COMMAND]"));
    CHECK_THROWS_AS(command(nullptr), cni::CniError);
}

TEST_CASE("missing variables are reported together, and empty ones count as missing") {
    CHECK_THAT(refusal(Command::add, {}), Names("4 required", "[CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME]"));
    CHECK_THAT(refusal(Command::check, with("CNI_NETNS", "")), Names("4 required", "[CNI_NETNS]"));
    CHECK_THAT(refusal(Command::del, {}), Names("4 required", "[CNI_CONTAINERID,CNI_IFNAME]"));
    CHECK(refusal(Command::add, {}, "no JSON").starts_with("4 ")); // the environment is checked first
}

TEST_CASE("each command requires its own variables, and others are ignored") {
    CHECK(request_of(Command::del, with("CNI_NETNS", "")).netns_path.empty());
    CHECK_FALSE(request_of(Command::gc, {}).pod_ifname);
    CHECK(request_of(Command::status, {}).container_id.empty());
    CHECK(request_of(Command::add, with("CNI_PATH", "")).path_text.empty());
    CHECK(refusal(Command::gc, with("CNI_CONTAINERID", "../x")) == "accepted");
    CHECK(refusal(Command::status, with("CNI_IFNAME", "a/b")) == "accepted");
}

TEST_CASE("container IDs and names of interfaces are validated") {
    for (const char* good : {"a", "0", "A_b.c-D9", "0123456789abcdef"})
        CHECK(refusal(Command::add, with("CNI_CONTAINERID", good)) == "accepted");
    for (const char* bad : {".", "..", "-a", "_a", "a/b", "a b", "a\n", "a:b", "\xc3\xbc", "../../etc"})
        CHECK(refusal(Command::add, with("CNI_CONTAINERID", bad)).starts_with("4 invalid characters"));
    CHECK(refusal(Command::add, with("CNI_IFNAME", "a/b")).starts_with("4 CNI_IFNAME: "));
}

TEST_CASE("text that the journal cannot hold is refused by ADD, and DEL then has nothing to do") {
    CHECK_THAT(refusal(Command::add, with("CNI_NETNS", "/run/\xff")), Names("4 CNI_NETNS", "UTF-8", "/run/\\xff"));
    CHECK_THAT(refusal(Command::add, with("CNI_PATH", "/opt/\xc0\xaf")),
               Names("4 CNI_PATH", "UTF-8", "/opt/\\xc0\\xaf"));
    CHECK(refusal(Command::del, with("CNI_NETNS", "/run/\xff")) == "accepted");
}

TEST_CASE("a command that the configuration's version lacks is refused") {
    const auto conf = [](const std::string& version) { return R"({"cniVersion": ")" + version + R"(", "name": "n"})"; };
    CHECK_THAT(refusal(Command::check, complete(), conf("0.3.1")),
               Names("1 config version", "CHECK", "0.3.1", "0.4.0"));
    CHECK(refusal(Command::check, complete(), conf("0.4.0")) == "accepted");
    CHECK_THAT(refusal(Command::gc, complete(), conf("1.0.0")), Names("1 config version", "GC", "1.0.0", "1.1.0"));
    CHECK(refusal(Command::status, complete(), conf("1.0.0")).starts_with("1 "));
    CHECK(refusal(Command::status, complete(), conf("1.1.0")) == "accepted");
}

TEST_CASE("bad CNI_ARGS stop ADD, never DEL") {
    const Variables variables = with("CNI_ARGS", "FOO=1;K8S_POD_NAME=p");
    CHECK(refusal(Command::add, variables).starts_with("4 CNI_ARGS: "));
    CHECK(request_of(Command::del, variables).args.pod_name == "p");
    CHECK(refusal(Command::gc, variables) == "accepted");
}

/// The pipe has `text`, and may stay open.
struct Input {
    explicit Input(std::string_view text) {
        REQUIRE(::pipe(ends) == 0);
        REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    }
    ~Input() {
        for (const int end : ends) (void)::close(end);
    }
    int ends[2] = {};
};

/// "CODE MESSAGE".
std::string failure_of_reading(int fd, std::chrono::milliseconds patience) try {
    return cni::read_configuration(fd, patience);
} catch (const cni::CniError& error) {
    return std::to_string(error.code()) + " " + error.what();
}

TEST_CASE("standard input is read to its end, up to a limit and a deadline") {
    Input input("{}");
    (void)::close(std::exchange(input.ends[1], -1));
    CHECK(cni::read_configuration(input.ends[0]) == "{}");
    CHECK_THROWS_AS(cni::read_configuration(-1), cni::CniError);
    const base::UniqueFd endless(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
    CHECK(failure_of_reading(endless.get(), std::chrono::minutes(2)).starts_with("5 "));
    CHECK_THAT(failure_of_reading(endless.get(), std::chrono::milliseconds(0)), Names("5 ", "standard input", "0 ms"));
    for (const std::string_view text : {"", R"({"cniVersion": "1.1.0")"})
        CHECK_THAT(failure_of_reading(Input(text).ends[0], std::chrono::milliseconds(30)),
                   Names("5 ", "standard input", "30 ms"));
}
