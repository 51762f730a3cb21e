#include <rdmanet/kube/access.hpp>

#include "support/concat.hpp"
#include "support/directory.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <utility>

using namespace rdmanet;
using namespace rdmanet::kube;
using Catch::Matchers::Contains;
using rdmanet::test::concat;
using rdmanet::test::Directory;

namespace {

/// As whereabouts' installer writes it, with another cluster and user.
std::string config(const std::string& cluster, const std::string& user) {
    return "apiVersion: v1\nkind: Config\nclusters:\n- name: local\n  cluster:\n    " + cluster +
           "\nusers:\n- name: whereabouts\n  user:\n    " + user +
           "\ncontexts:\n- name: whereabouts-context\n  context:\n    cluster: local\n    user: whereabouts\n    "
           "namespace: "
           "kube-system\ncurrent-context: whereabouts-context\n";
}

constexpr const char* kCluster = "server: https://[10.96.0.1]:443\n    certificate-authority-data: Q0EK";

std::string why_not(const Directory& files, const std::string& text) {
    try {
        (void)read_kubeconfig(files.write("config", text));
    } catch (const KubeconfigError& error) {
        return error.what();
    }
    return {};
}

} // namespace

TEST_CASE("whereabouts' own kubeconfig is understood") {
    const Directory files;
    const Access access = read_kubeconfig(files.write("config", config(kCluster, "token: \"secret\"")));
    CHECK(access.server.to_string() == "https://10.96.0.1:443");
    CHECK(access.tls.authorities == "CA\n");
    CHECK(access.tls.verify == http::Verify::server);
    CHECK(access.authorization == "Bearer secret");
    CHECK(access.user == "whereabouts");
    CHECK(access.name_space == "kube-system");
    CHECK(access.warnings.empty());
}

TEST_CASE("certificates and tokens may be in files beside it") {
    const Directory files;
    files.write("ca.crt", "CA");
    files.write("client.crt", "CERTIFICATE");
    files.write("token", "from-file\n");
    const std::string key = files.write("client.key", "KEY");
    const Access access = read_kubeconfig(files.write(
        "config",
        config("server: https://api:6443\n    certificate-authority: ca.crt\n    tls-server-name: kubernetes",
               "client-certificate: client.crt\n    client-key: " + key + "\n    token: old\n    tokenFile: token")));
    CHECK(access.tls.authorities == "CA");
    CHECK(access.tls.certificate == "CERTIFICATE");
    CHECK(access.tls.key == "KEY");
    CHECK(access.tls.server_name == "kubernetes");
    CHECK(access.authorization == "Bearer from-file");
}

TEST_CASE("a kubeconfig that a network names, and what it names itself, is below one directory") {
    const Directory files;
    const std::string outside = files.write("pki/client.pem", "PEM");
    files.write("net.d/..2026/token", "projected");
    files.link("net.d/..data", "..2026");
    files.link("net.d/token", "..data/token");
    files.link("net.d/link.pem", "../pki/client.pem");
    const auto read = [&](const std::string& user, const std::string& name = "net.d/sub/config") {
        return read_kubeconfig(files.write(name, config(kCluster, user)), {}, {}, files.file("net.d"));
    };
    CHECK(read("tokenFile: ../token").authorization == "Bearer projected");
    CHECK(read("tokenFile: " + files.file("net.d/token")).authorization == "Bearer projected");
    for (const std::string& file :
         {outside, std::string("../../pki/client.pem"), std::string("../link.pem"), std::string("/proc/self/comm")}) {
        INFO(file);
        CHECK_THROWS_WITH(read("client-certificate: " + file + "\n    client-key: " + file),
                          Contains("kubeconfig " + files.file("net.d/sub/config: client-certificate names ")) &&
                              Contains(file) && Contains("must have its files below " + files.file("net.d, ")) &&
                              Contains("copy the file there, or let the node's rdmanet.conf name this kubeconfig"));
        CHECK_THROWS_WITH(read("tokenFile: " + file), Contains("tokenFile names "));
    }
    CHECK_THROWS_WITH(read("token: t", "config"), Contains("/config is not below " + files.file("net.d")));
    files.link("net.d/link", "../config");
    CHECK_THROWS_WITH(read("token: t", "net.d/link"), Contains("leads out of"));
    CHECK(read_kubeconfig(files.write("config", config(kCluster, "tokenFile: " + outside))).authorization ==
          "Bearer PEM");
}

TEST_CASE("a kubeconfig in a file of the kernel is refused before it is read") {
    const Directory files;
    CHECK_THROWS_WITH(read_kubeconfig("/proc/kmsg"), Contains("/proc/kmsg") && Contains("may never end"));
    CHECK_THAT(why_not(files, config(kCluster, "tokenFile: /proc/self/comm")),
               Contains("tokenFile cannot be read: /proc/self/comm") && Contains("may never end"));
}

TEST_CASE("a user and a password, and a server that nobody verifies") {
    const Directory files;
    const Access access = read_kubeconfig(files.write(
        "config", config("server: https://api\n    insecure-skip-tls-verify: true", "username: u\n    password: pw")));
    CHECK(access.authorization == "Basic dTpwdw==");
    CHECK(access.tls.verify == http::Verify::nobody);
    REQUIRE(access.warnings.size() == 1);
    CHECK_THAT(access.warnings[0], Contains("insecure-skip-tls-verify: anybody can pretend to be the server"));
}

TEST_CASE("a proxy is the one that the kubeconfig names, with its user and password") {
    const Directory files;
    const auto proxy = [&](const std::string& url) {
        const auto found =
            read_kubeconfig(
                files.write("config", config(std::string(kCluster) + "\n    proxy-url: '" + url + "'", "token: t")))
                .proxy;
        return found ? found->url.to_string() + " " + found->authorization : "none";
    };
    CHECK(proxy("") == "none");
    CHECK(proxy("http://proxy:3128/") == "http://proxy:3128 ");
    CHECK(proxy("http://u:p%40%3A@[fd00::1]:3128") == "http://[fd00::1]:3128 Basic dTpwQDo=");
    CHECK(proxy("http://u@proxy") == "http://proxy:80 Basic dTo=");
}

TEST_CASE("a token that would be sent in clear text is a warning, and is not said") {
    const Directory files;
    const auto warnings = [&](const std::string& user) {
        return read_kubeconfig(files.write("config", config("server: http://10.0.0.1:8080", user))).warnings;
    };
    const auto found = warnings("token: hidden");
    REQUIRE(found.size() == 1);
    CHECK_THAT(found[0], Contains("goes to http://10.0.0.1:8080 in clear text") && !Contains("hidden"));
    CHECK(warnings("username: ''").empty());
}

TEST_CASE("a cluster without authorities gets those of the caller") {
    const Directory files;
    const std::string without = files.write("config", config("server: https://api:6443", "token: t"));
    CHECK(read_kubeconfig(without, "SYSTEM").tls.authorities == "SYSTEM");
    CHECK(read_kubeconfig(files.write("config", config(kCluster, "token: t")), "SYSTEM").tls.authorities == "CA\n");
}

TEST_CASE("what is no kubeconfig is refused with the place in it, and without what it hides") {
    const Directory files;
    const std::string path = "kubeconfig " + files.path() + "/config: ";
    const auto cluster = [](const std::string& text) { return config(text, "token: t"); };
    const auto proxy = [&](const std::string& url) {
        return cluster(concat(kCluster, "\n    proxy-url: '", url, "'"));
    };
    const std::pair<std::string, std::string> rows[] = {
        {"a: [b", path + "is not YAML: line "},
        {"text", "expected a map"},
        {"kind: Config", "current-context is not set"},
        {"current-context: x", "contexts has no entry \"x\""},
        {cluster("server: ftp://x"), "cluster: server \"ftp://x\""},
        {cluster("server: https://x"), "certificate-authority-data is missing"},
        {cluster("server: https://x\n    certificate-authority-data: '*'"), "certificate-authority-data is not base64"},
        {cluster("server: [x]"), "server has the wrong type"},
        {proxy("https://u:hidden@p"), "proxy-url is not supported: expected http://HOST:PORT"},
        {proxy("http://u:hidden%4@p"), "proxy-url has a '%'"},
        {proxy("http://u:hidden@p:x"), "proxy-url: server"},
        {proxy("http://p/path"), "proxy-url has a path"},
        {cluster("server: http://x\n    proxy-url: http://p"), "proxy-url is not supported for an http server"},
        {config(kCluster, "exec: {command: aws}"), "exec is not supported"},
        {config(kCluster, "exec: {command: aws}"), "use a token"},
        {config(kCluster, "client-key-data: S0VZ"), "client-certificate is missing"},
        {config(kCluster, "tokenFile: none"), "tokenFile names"},
        {config(kCluster, "tokenFile: none"), "missing on this node"},
        {config(kCluster, "token: \"a\\r\\nX: y\""), "token has control characters"},
    };
    for (const auto& [text, why] : rows) CHECK_THAT(why_not(files, text), Contains(why) && !Contains("hidden"));
    files.remove("config");
    CHECK_THROWS_WITH(read_kubeconfig(files.file("config")), Contains("is missing on this node"));
}
