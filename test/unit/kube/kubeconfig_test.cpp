#include <rdmanet/kube/access.hpp>

#include "files.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>

using namespace rdmanet;
using namespace rdmanet::kube;
using Catch::Matchers::Contains;
using rdmanet::kube::test::Files;

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

std::string why_not(const Files& files, const std::string& text) {
    try {
        (void)read_kubeconfig(files.write("config", text));
    } catch (const KubeconfigError& error) {
        return error.what();
    }
    return {};
}

} // namespace

TEST_CASE("whereabouts' own kubeconfig is understood") {
    const Files files;
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
    const Files files;
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

TEST_CASE("a user and a password, and a server that nobody verifies") {
    const Files files;
    const Access access = read_kubeconfig(files.write(
        "config", config("server: https://api\n    insecure-skip-tls-verify: true", "username: u\n    password: pw")));
    CHECK(access.authorization == "Basic dTpwdw==");
    CHECK(access.tls.verify == http::Verify::nobody);
    REQUIRE(access.warnings.size() == 1);
    CHECK_THAT(access.warnings[0], Contains("insecure-skip-tls-verify: anybody can pretend to be the server"));
}

TEST_CASE("a proxy is the one that the kubeconfig names, with its user and password") {
    const Files files;
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
    const Files files;
    const auto warnings = [&](const std::string& user) {
        return read_kubeconfig(files.write("config", config("server: http://10.0.0.1:8080", user))).warnings;
    };
    const auto found = warnings("token: hidden");
    REQUIRE(found.size() == 1);
    CHECK_THAT(found[0], Contains("goes to http://10.0.0.1:8080 in clear text") && !Contains("hidden"));
    CHECK(warnings("username: ''").empty());
}

TEST_CASE("a cluster without authorities gets those of the caller") {
    const Files files;
    const std::string without = files.write("config", config("server: https://api:6443", "token: t"));
    CHECK(read_kubeconfig(without, "SYSTEM").tls.authorities == "SYSTEM");
    CHECK(read_kubeconfig(files.write("config", config(kCluster, "token: t")), "SYSTEM").tls.authorities == "CA\n");
}

TEST_CASE("what is no kubeconfig is refused with the place in it") {
    const Files files;
    const std::string path = "kubeconfig " + files.directory() + "/config: ";
    CHECK_THAT(why_not(files, "a: [b"), Contains(path + "is not YAML: line "));
    CHECK_THAT(why_not(files, "text"), Contains("expected a map"));
    CHECK_THAT(why_not(files, "kind: Config"), Contains("current-context is not set"));
    CHECK_THAT(why_not(files, "current-context: x"), Contains("contexts has no entry \"x\""));
    CHECK_THAT(why_not(files, config("server: ftp://x", "token: t")), Contains("cluster: server \"ftp://x\""));
    CHECK_THAT(why_not(files, config("server: https://x", "token: t")),
               Contains("certificate-authority-data is missing"));
    CHECK_THAT(why_not(files, config("server: https://x\n    certificate-authority-data: '*'", "token: t")),
               Contains("certificate-authority-data is not base64"));
    CHECK_THAT(why_not(files, config("server: [x]", "token: t")), Contains("server has the wrong type"));
    const auto with_proxy = [](const std::string& url) {
        return config(std::string(kCluster) + "\n    proxy-url: '" + url + "'", "token: t");
    };
    CHECK_THAT(why_not(files, with_proxy("https://u:hidden@p")),
               Contains("proxy-url is not supported: expected http://HOST:PORT") && !Contains("hidden"));
    CHECK_THAT(why_not(files, with_proxy("http://u:hidden%4@p")),
               Contains("proxy-url has a '%'") && !Contains("hidden"));
    CHECK_THAT(why_not(files, with_proxy("http://u:hidden@p:x")), Contains("proxy-url: server") && !Contains("hidden"));
    CHECK_THAT(why_not(files, with_proxy("http://p/path")), Contains("proxy-url has a path"));
    CHECK_THAT(why_not(files, config("server: http://x\n    proxy-url: http://p", "token: t")),
               Contains("proxy-url is not supported for an http server"));
    CHECK_THAT(why_not(files, config(kCluster, "exec: {command: aws}")),
               Contains("exec is not supported") && Contains("use a token"));
    CHECK_THAT(why_not(files, config(kCluster, "client-key-data: S0VZ")), Contains("client-certificate is missing"));
    CHECK_THAT(why_not(files, config(kCluster, "tokenFile: none")),
               Contains("tokenFile names") && Contains("missing on this node"));
    CHECK_THAT(why_not(files, config(kCluster, "token: \"a\\r\\nX: y\"")), Contains("token has control characters"));
    std::filesystem::remove(files.directory() + "/config");
    CHECK_THROWS_WITH(read_kubeconfig(files.directory() + "/config"), Contains("is missing on this node"));
}
