// Who a call is for the API server, and the line between them: tokens and certificates that end, delays, and
// connections that are cut.
#include "attachment_stage.hpp"
#include "cluster_calls.hpp"
#include "cluster_machine.hpp"
#include "cluster_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"
#include "support/tcp_proxy.hpp"

#include <catch2/catch.hpp>

#include <cstddef>
#include <functional>

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
    const Stage stage;
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
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a client certificate that has expired, or that nobody knows, is refused with a fix", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const Stage stage;
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
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a connection to the API server that is slow, or is cut at any byte of an ADD or DEL, costs no address",
          "[cluster][blocks]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const std::string url = shell(cluster() + "/get --url");
    const auto port = static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1)));
    const std::string place = GENERATE("pool", "blocks");
    const std::string space = own_space();
    const ClusterMachine machine(space, space);
    const Declared declared(space, place == "pool" ? "10.31.43.0/24" : "10.31.42.0/24",
                            place == "pool" ? "" : "'requestable':'10.31.42.128/25'");
    const Stage stage;
    int number = 0;
    // Each ADD asks for an address of its own: with blocks, that is a block of its own, which DEL gives back.
    const auto next_call = [&](const std::string& limits = kLongLimits) {
        PluginCall call = of(machine.call(stage.pod, "10.31.42.0/24"), concat("c", ++number));
        call.config = replaced(call.config, json_text(kLongLimits), json_text(limits));
        call.args += concat(";IP=10.31.42.", 129 + number);
        return call;
    };
    const auto directly = [&] { write_kubeconfig(kubeconfig()); };
    const auto by = [&](const TcpProxy& proxy) {
        write_kubeconfig(kubeconfig(url, concat("https://127.0.0.1:", proxy.port())));
    };
    const auto left = [&] { return leases_left(space, "10.31.42.0-24"); };
    directly();
    const PluginCall first = next_call(); // marks pools, and looks for what a boot before has left
    (void)add(first);
    CHECK(del(first) == "");

    std::size_t requests[2]{};
    std::size_t answers[2]{};
    const PluginCall whole = next_call();
    for (const bool is_del : {false, true}) {
        const TcpProxy proxy(port);
        by(proxy);
        CHECK((is_del ? del(whole) : (add(whole), std::string())) == "");
        requests[is_del] = proxy.bytes_of_requests();
        answers[is_del] = proxy.bytes_of_answers();
    }
    CHECK(left() == "");
    constexpr std::size_t kPoints = 6;
    int given = 0;
    for (const bool is_del : {false, true})
        for (std::size_t point = 0; point < 2 * kPoints; ++point) {
            const bool cuts_requests = point < kPoints;
            const std::size_t bytes = (point % kPoints + 1) * (cuts_requests ? requests : answers)[is_del] / kPoints;
            INFO((is_del ? "DEL" : "ADD") << (cuts_requests ? ", requests" : ", answers") << " cut after " << bytes);
            const PluginCall call = next_call();
            const TcpProxy proxy(port, cuts_requests ? bytes : TcpProxy::kNever,
                                 cuts_requests ? TcpProxy::kNever : bytes);
            if (is_del) {
                directly();
                (void)add(call);
                by(proxy);
            } else {
                by(proxy);
                const ProcessResult result = call.run();
                if (result.exit_status == 0)
                    ++given;
                else
                    CHECK_THAT(error_of(result), Names("code 11"));
            }
            CHECK(del(call) == "");
        }
    CHECK(given > 0);
    directly();
    pay_debts();
    CHECK(left() == "");

    TcpProxy slow(port);
    slow.set_delay(std::chrono::milliseconds(30)); // for each piece: a few hundred for an ADD
    by(slow);
    const PluginCall late = next_call();
    (void)add(late);
    CHECK(del(late) == "");
    slow.set_delay(std::chrono::milliseconds(400));
    CHECK_THAT(refusal(next_call("'connectTimeoutMs':300,'requestTimeoutMs':300,'addTimeoutMs':2000")),
               Names("code 11", concat("https://127.0.0.1:", slow.port()), "no answer"));
    slow.set_delay(std::chrono::milliseconds(0));
    directly();
    pay_debts();
    CHECK(left() == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
