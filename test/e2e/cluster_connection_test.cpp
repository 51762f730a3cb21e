// Who a call is for the API server: tokens and certificates that end.
#include "attachment_stage.hpp"
#include "cluster_calls.hpp"
#include "cluster_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {
namespace {

/// Of the nodes' ServiceAccount, signed with the server's own key (RFC 7519). The server gives a minute of grace.
std::string token_that_ends(const std::string& seconds_from_now) {
    return shell(concat(
        "cd ", cluster(),
        " && account=$(./get /api/v1/namespaces/kube-system/serviceaccounts/rdmanet | jq -r .metadata.uid)",
        R"sh( && url() { base64 -w0 | tr '+/' '-_' | tr -d '='; } && now=$(date +%s) && )sh",
        R"sh(head=$(printf '{"alg":"ES256","typ":"JWT"}' | url) && body=$(printf '{"iss":"https://test","aud":)sh",
        R"sh(["https://test"],"sub":"system:serviceaccount:kube-system:rdmanet","iat":%d,"nbf":%d,"exp":%d,)sh",
        R"sh("kubernetes.io":{"namespace":"kube-system","serviceaccount":{"name":"rdmanet","uid":"%s"}}}' )sh",
        "$((now - 7200)) $((now - 7200)) $((now + ", seconds_from_now, R"sh()) $account | url) && )sh",
        // ECDSA signatures are two numbers of 32 bytes here (RFC 7518, 3.4), and ASN.1 in OpenSSL.
        R"sh(signature=$(printf %s.%s $head $body | openssl dgst -sha256 -sign pki/sa.key | openssl asn1parse -inform DER )sh",
        R"sh(| sed -n 's/.*INTEGER *://p' | while read -r number; do printf '%64s' $number; done | tr ' ' 0 | basenc --base16 -d )sh",
        R"sh(| url) && printf %s.%s.%s $head $body $signature)sh"));
}

} // namespace

TEST_CASE("a token that changes in its file, and one that expires, count from the next call on", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const CheckedStage stage;
    const PluginCall call = call_in_cluster(stage.pod, "10.31.40.0/24");
    write_kubeconfig(kubeconfig("token: rdmanet-token", "tokenFile: /etc/cni/net.d/cluster-test.token"));
    const auto use = [](const std::string& token) { shell("echo '" + token + "' >/etc/cni/net.d/cluster-test.token"); };
    use(token_that_ends("3600"));
    CHECK(addresses(add(call)) == "10.31.40.1/24");
    const PluginCall second = beside(call);
    for (const std::string& ended : {token_that_ends("-3600"), std::string("n0-token")}) {
        use(ended);
        CHECK_THAT(refusal(second), Names("code 109", "HTTP 401: Unauthorized", "renew the token") &&
                                        !Catch::Contains(ended.substr(ended.size() - 8)));
    }
    CHECK(del(call) == ""); // and owes the address
    CHECK_FALSE(pool_records("10.31.40.0-24") == kHasNoRecord);
    use("rdmanet-token");
    pay_debts();
    CHECK(pool_records("10.31.40.0-24") == kHasNoRecord);
    CHECK(shell("find /run/rdmanet/attachments -name '*.json'; rm /etc/cni/net.d/cluster-test.token") == "");
}

TEST_CASE("a client certificate that has expired, or that nobody knows, is refused with a fix", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const CheckedStage stage;
    const PluginCall call = call_in_cluster(stage.pod, "10.31.41.0/24");
    const auto certificate = [](const std::string& days, const std::string& ca) {
        shell(concat("cd /etc/cni/net.d && openssl ecparam -name prime256v1 -genkey -noout -out cluster-test.key && "
                     "openssl req -new "
                     "-key cluster-test.key -subj /O=system:masters/CN=certified | openssl x509 -req -CA ",
                     ca, ".crt -CAkey ", ca, ".key -CAserial /etc/cni/net.d/cluster-test.serial -CAcreateserial -days ",
                     days, " -out cluster-test.crt 2>/dev/null"));
    };
    const std::string ca = cluster() + "/pki/ca";
    const std::string other = "/run/cluster-test-ca";
    shell(concat("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ", other,
                 ".key -subj /CN=other -days 2 -out ", other, ".crt 2>/dev/null"));
    write_kubeconfig(
        kubeconfig("token: rdmanet-token",
                   "client-certificate: /etc/cni/net.d/cluster-test.crt, client-key: /etc/cni/net.d/cluster-test.key"));
    certificate("2", ca);
    CHECK(addresses(add(call)) == "10.31.41.1/24");
    CHECK(del(call) == "");
    certificate("0", ca); // until now
    CHECK_THAT(refusal(call), Names("code 109", "HTTP 401: Unauthorized", "renew the token or certificate"));
    certificate("2", other);
    CHECK_THAT(refusal(call), Names("code 109", "HTTP 401: Unauthorized", "renew the token or certificate"));
    CHECK(pool_records("10.31.41.0-24") == kHasNoRecord);
    shell("rm /etc/cni/net.d/cluster-test.* /run/cluster-test-ca.*");
}

} // namespace rdmanet::test
