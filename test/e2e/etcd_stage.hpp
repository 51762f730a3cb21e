// The etcd of cases that are run by test/cluster/etcd.sh, and attachments whose addresses are in it.
#pragma once

#include "attachment_stage.hpp"
#include "cluster_stage.hpp"

#include "support/concat.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"
#include "support/tcp_proxy.hpp"

#include <cstdint>
#include <string>

namespace rdmanet::test {

inline constexpr const char* kNoEtcd = "http://127.0.0.1:1";

inline std::string etcd_endpoint() {
    return shell(concat("head -n 1 ", etcd(), "/one/endpoints | tr -d '\\n'"));
}

/// Keys below the prefix, one a line, without those that nodes and ranges keep.
inline std::string etcd_keys(const std::string& prefix) {
    return shell(concat("curl --silent --fail ", etcd_endpoint(), R"(/v3/kv/range -d '{"key":"'$(printf )", prefix,
                        R"(/ | base64 -w0)'","range_end":"'$(printf )", prefix,
                        R"(0 | base64 -w0)'","keys_only":true}' | jq --raw-output '.kvs // [] | .[].key | @base64d')",
                        " | { grep -v -E '/@nodes/[^/]*$|/r/[^/]*$' || true; }"));
}

/// `etcd` of a configuration, in single quotes.
inline std::string etcd_servers(const std::string& prefix, const std::string& at, const std::string& more = "") {
    return concat("'etcd':{'endpoints':['", at, "'],'prefix':'", prefix, "'", more, "}");
}

/// An attachment of a pod whose network has its addresses in etcd.
inline PluginCall etcd_call(const Pod& pod, const std::string& prefix, const std::string& ranges,
                            const std::string& at = etcd_endpoint(), const std::string& more = "") {
    PluginCall call = call_for(pod, concat("'master':'par0','ipam':{'type':'rdmanet',", ranges, ",'store':'etcd',",
                                           etcd_servers(prefix, at, more), "}"));
    call.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till;K8S_POD_UID=uid-1";
    return call;
}

inline std::string records_left() {
    return shell("find /run/rdmanet -name '*.json' -printf '%f\\n' 2>/dev/null || true");
}

/// Gets no processor time until this ends.
class StoppedEtcd {
public:
    StoppedEtcd() : pid_(shell(concat("tr -d '\\n' <", etcd(), "/one/1.pid"))) {
        shell(concat("kill -STOP ", pid_));
        wait_until(concat("test \"$(cut -d' ' -f3 /proc/", pid_, "/task/*/stat | sort -u)\" = T"));
    }
    StoppedEtcd(const StoppedEtcd&) = delete;
    StoppedEtcd& operator=(const StoppedEtcd&) = delete;
    ~StoppedEtcd() { (void)succeeds(concat("kill -CONT ", pid_)); }

private:
    std::string pid_;
};

/// The line to that etcd, whose connections are counted.
class EtcdLine : public TcpProxy {
public:
    EtcdLine()
        : TcpProxy(static_cast<std::uint16_t>(std::stoul(etcd_endpoint().substr(etcd_endpoint().rfind(':') + 1))),
                   kNever, kNever, shell("cut -d: -f2 " + etcd() + "/one/endpoints | tr -d '/\\n'").c_str()) {}

    [[nodiscard]] std::string url() const { return concat("http://127.0.0.1:", port()); }
};

/// Records name the servers, and debts are paid there whatever a configuration says by then.
inline void move_records(const std::string& from, const std::string& to) {
    shell(concat("find /run/rdmanet/attachments -name '*.json' -exec sed -i 's#", from, "#", to, "#' {} +"));
}

inline std::string machine_id() {
    return shell("tr -d '\\n' < /etc/machine-id");
}

} // namespace rdmanet::test
