#include <rdmanet/kube/access.hpp>

#include "support/directory.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>

using namespace rdmanet::kube;
using Catch::Matchers::Contains;
using rdmanet::test::Directory;

namespace {

/// The environment of a pod, for as long as this lives.
class PodEnvironment {
public:
    PodEnvironment(const char* host, const char* port) {
        ::setenv(kHost, host, 1);
        ::setenv(kPort, port, 1);
    }
    PodEnvironment(const PodEnvironment&) = delete;
    PodEnvironment& operator=(const PodEnvironment&) = delete;
    ~PodEnvironment() {
        ::unsetenv(kHost);
        ::unsetenv(kPort);
    }

private:
    static constexpr const char* kHost = "KUBERNETES_SERVICE_HOST";
    static constexpr const char* kPort = "KUBERNETES_SERVICE_PORT";
};

} // namespace

TEST_CASE("a pod reaches the API server by its ServiceAccount, whose token is read at each call") {
    const Directory files;
    files.write("ca.crt", "CA");
    files.write("token", "first\n");
    files.write("namespace", "kube-system\n");
    const PodEnvironment pod("10.96.0.1", "443");
    const auto access = find_access_of_pod(files.path());
    REQUIRE(access);
    CHECK(access->server.to_string() == "https://10.96.0.1:443");
    CHECK(access->tls.authorities == "CA");
    CHECK(access->tls.verify == rdmanet::http::Verify::server);
    CHECK(access->authorization == "Bearer first");
    CHECK(access->name_space == "kube-system");
    files.write("token", "second");
    CHECK(find_access_of_pod(files.path())->authorization == "Bearer second");
    const PodEnvironment six("fd00::1", "6443");
    CHECK(find_access_of_pod(files.path())->server.to_string() == "https://[fd00::1]:6443");
}

TEST_CASE("a pod without a ServiceAccount's files is told what is missing, and no secret is said") {
    const Directory files;
    const PodEnvironment pod("api.example", "443");
    const auto why_not = [&]() -> std::string {
        try {
            (void)find_access_of_pod(files.path());
        } catch (const KubeconfigError& error) {
            return error.what();
        }
        return {};
    };
    CHECK_THAT(why_not(), Contains(files.path() + "/ca.crt is missing") && Contains("serviceAccountName"));
    files.write("ca.crt", "CA");
    CHECK_THAT(why_not(), Contains(files.path() + "/token is missing"));
    files.write("token", "hidden\r\nX: y");
    CHECK_THAT(why_not(), Contains("/token has control characters") && !Contains("hidden"));
    files.write("token", "hidden");
    CHECK_THAT(why_not(), Contains(files.path() + "/namespace is missing"));
    const PodEnvironment bad("a b", "443");
    CHECK_THAT(why_not(), Contains("KUBERNETES_SERVICE_HOST"));
}

TEST_CASE("outside of a pod nothing is found") {
    CHECK_FALSE(find_access_of_pod());
}
