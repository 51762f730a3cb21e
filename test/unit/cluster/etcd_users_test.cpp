// Users, passwords, tokens and certificates of etcd.
#include "etcd_case.hpp"

#include "support/process.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;
using rdmanet::test::shell;

TEST_CASE_METHOD(EtcdCase, "a password, a right or a certificate that is wrong is named, and no secret is said",
                 "[etcd]") {
    if (!is_there()) return;
    const std::string directory = *etcd_directory() + "/secure/";
    etcd::Servers servers = servers_of("secure");
    const auto refused = [&](const auto& matcher) {
        const std::string why = why_not(servers);
        CHECK_THAT(why, matcher);
        CHECK(why.find("secret") == std::string::npos);
    };
    SECTION("another user's password") {
        servers.password_file = directory + "reader.password";
        refused(Contains("permanent") && Contains("invalid user ID or password") && Contains("user \"rdmanet\"") &&
                Contains("etcd.passwordFile"));
    }
    SECTION("a user without the right to write") {
        servers.username = "reader";
        servers.password_file = directory + "reader.password";
        refused(Contains("permanent") && Contains("permission denied") && Contains("user \"reader\"") &&
                Contains("grant-permission"));
    }
    SECTION("a user without any right") {
        servers.username = "stranger";
        servers.password_file = directory + "stranger.password";
        refused(Contains("permanent") && Contains("permission denied") && Contains("user \"stranger\""));
    }
    SECTION("no user") {
        servers.username.clear();
        servers.password_file.clear();
        refused(Contains("permanent") && Contains("set etcd.username"));
    }
    SECTION("no file with the password") {
        servers.password_file = directory + "absent";
        refused(Contains("etcd.passwordFile") && Contains("absent"));
    }
    SECTION("users where etcd has none") {
        servers.endpoints = endpoints_of("one");
        refused(Contains("permanent") && Contains("authentication is not enabled") && Contains("etcdctl auth enable"));
    }
    SECTION("another authority") {
        servers.ca = directory + "other-ca.crt";
        refused(Contains("TLS") && Contains("certificate"));
    }
    SECTION("no client certificate") {
        servers.certificate.clear();
        servers.key.clear();
        refused(Contains("TLS"));
    }
    SECTION("a client certificate with a name") {
        servers.certificate = directory + "named.crt";
        servers.key = directory + "named.key";
        refused(Contains("permanent") && Contains("without a CommonName") && Contains("etcd.cert"));
    }
    SECTION("a key that is another's") {
        servers.key = directory + "named.key";
        refused(Contains("permanent") && Contains("client key"));
    }
}

TEST_CASE_METHOD(EtcdCase, "a login is kept for the next process, and renewed when etcd has forgotten it", "[etcd]") {
    if (!is_there()) return;
    memory = (std::filesystem::temp_directory_path() / ("etcd-token-" + std::to_string(::getpid()))).string();
    std::filesystem::remove(memory);
    const auto take = [&](const std::string& name) {
        return text_of(connect(servers_of("secure"))->reserve(owner(name, name), {claim("10.0.0.0/24")}, soon()));
    };
    const auto token = [&] { return etcd::Memory(memory).token; };
    CHECK(take("a").starts_with("10.0.0."));
    const std::string first = token();
    CHECK(first != "");
    CHECK(take("b").starts_with("10.0.0."));
    CHECK(token() == first);
    etcd::Memory forged(memory);
    forged.token = "forgotten.1";
    forged.save();
    CHECK(take("c").starts_with("10.0.0."));
    CHECK(token() != "forgotten.1");
    std::filesystem::remove(memory);
}

TEST_CASE_METHOD(EtcdCase, "a token that etcd no longer takes is renewed, and a changed password is read", "[etcd]") {
    if (!is_there()) return;
    const std::string directory = *etcd_directory() + "/secure/";
    const std::string curl = "curl --silent --fail --cacert " + directory + "ca.crt --cert " + directory +
                             "client.crt --key " + directory + "client.key " + endpoints_of("secure").front();
    const auto as_root = [&](const std::string& path, const std::string& body) {
        shell("token=$(" + curl + R"(/v3/auth/authenticate -d '{"name":"root","password":"secret of root"}' | )" +
              "jq --raw-output .token); " + curl + "/v3/auth/" + path + " -H \"Authorization: $token\" -d '" + body +
              "'");
    };
    etcd::Servers servers = servers_of("secure");
    const auto store = connect(servers);
    CHECK(text_of(store->reserve(owner("a", "p"), {claim("10.0.0.0/24")}, soon())).starts_with("10.0.0."));
    as_root("user/add", R"({"name":"other-)" + std::to_string(::getpid()) + R"(","password":"x"})");
    CHECK(text_of(store->reserve(owner("b", "q"), {claim("10.0.0.0/24")}, soon())).starts_with("10.0.0."));
    as_root("user/changepw", R"({"name":"rdmanet","password":"another one"})");
    CHECK_THAT(why_not(*store, owner("c", "r"), {claim("10.0.0.0/24")}),
               Contains("permanent") && Contains("etcd.passwordFile") && !Contains("secret"));
    const std::string file =
        (std::filesystem::temp_directory_path() / ("password-" + std::to_string(::getpid()))).string();
    shell("echo 'another one' >" + file);
    servers.password_file = file;
    CHECK(text_of(connect(servers)->reserve(owner("c", "r"), {claim("10.0.0.0/24")}, soon())).starts_with("10.0.0."));
    as_root("user/changepw", R"({"name":"rdmanet","password":"secret of rdmanet"})");
    std::filesystem::remove(file);
    for (const char* name : {"a", "b", "c"})
        CHECK(connect(servers_of("secure"))->release(owner(name, "p").key, soon()).size() == 1);
}
