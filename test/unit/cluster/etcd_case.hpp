// What the cases of store etcd have in common.
#pragma once

#include "etcd_fixture.hpp"
#include "fixture.hpp"
#include "lossy_etcd.hpp"

#include "etcd/keys.hpp"
#include "etcd/values.hpp"

#include "support/process.hpp"

#include <rdmanet/ipam/errors.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::cluster::test {

/// What is below `prefix`: keys without the prefix, and their values.
inline std::vector<etcd::KeyValue> entries_below(const std::string& prefix) {
    etcd::Client client = connect_to(servers_of("one"));
    auto entries = client.run(etcd::Transaction().read(etcd::Range::below(prefix + "/")), soon()).found[0].entries;
    for (etcd::KeyValue& entry : entries) entry.key = entry.key.substr(prefix.size());
    return entries;
}

/// Without the keys of the node and of its ranges, which stay.
inline std::vector<std::string> keys_below(const std::string& prefix) {
    std::vector<std::string> keys;
    for (const etcd::KeyValue& entry : entries_below(prefix))
        if ((!entry.key.starts_with("/@nodes/") || entry.key.find('/', 8) != std::string::npos) &&
            entry.key.find("/r/") != entry.key.find('/', 1))
            keys.push_back(entry.key);
    return keys;
}

inline void remove_key(const std::string& key) {
    etcd::Client client = connect_to(servers_of("one"));
    (void)client.run(etcd::Transaction().remove(key), soon());
}

inline std::string why_not(ipam::Store& store, const ipam::Owner& who, const std::vector<ipam::Claim>& claims) {
    try {
        return "granted " + text_of(store.reserve(who, claims, soon()));
    } catch (const ipam::StoreError& error) {
        return std::string(error.temporary() ? "temporary: " : "permanent: ") + error.what();
    }
}

inline std::string why_not(const etcd::Servers& servers, http::Limits limits = {.connect = 60s, .request = 60s}) {
    try {
        const auto store = make_etcd_store(connect_to(servers, etcd::Memory(), limits), etcd_options(own_prefix()));
        return why_not(*store, owner("a", "p"), {});
    } catch (const etcd::Failure& failure) {
        return failure.what();
    }
}

class EtcdCase {
public:
    using Fate = LossyEtcd::Fate;

    EtcdCase() {
        if (!is_there()) rdmanet::test::mark_skipped(kNeedsEtcd);
    }
    [[nodiscard]] static bool is_there() { return etcd_directory().has_value(); }

    [[nodiscard]] std::unique_ptr<ipam::Store> connect(const etcd::Servers& servers, bool has_open_claim = false) {
        EtcdOptions options = etcd_options(prefix);
        options.has_open_claim = has_open_claim;
        options.before_claim = [this](const ipam::Lease& lease) { claimed.push_back(lease.address.to_string()); };
        options.warn = [this](const std::string& text) { warnings.push_back(text); };
        return make_etcd_store(connect_to(servers, etcd::Memory(memory)), std::move(options));
    }
    [[nodiscard]] std::unique_ptr<ipam::Store> connect() { return connect(servers_of("one")); }

    /// etcd behind a connection, where the n-th request of `what` (text in its body, in base64) has that fate.
    [[nodiscard]] std::unique_ptr<LossyEtcd> behind(std::function<Fate(const std::string&)> fate) {
        return std::make_unique<LossyEtcd>(endpoints_of("one").front(), std::move(fate));
    }

    [[nodiscard]] static ipam::Claim claim(std::string_view subnet) {
        const base::IpPrefix range = prefix_of(subnet);
        return {.space = "",
                .family = range.family(),
                .prefix_length = range.length(),
                .usable = {ipam::bounds_of(range, ipam::Edges::kept_free)},
                .wanted = std::nullopt,
                .cooldown = 30s};
    }
    [[nodiscard]] static ipam::Claim wanting(std::string_view subnet, std::string_view address) {
        ipam::Claim one = claim(subnet);
        one.wanted = ip(address);
        return one;
    }
    /// As if that store had the range.
    void record(std::string_view subnet, const std::string& store = "etcd") const {
        (void)connect_to(servers_of("one"))
            .run(etcd::Transaction().put(EtcdKeys(prefix).range("", prefix_of(subnet)), text_of_range(store)), soon());
    }
    static base::IpPrefix prefix_of(std::string_view text) { return base::IpPrefix::parse(text).value(); }

    const std::string prefix = own_prefix();
    std::string memory; // file; empty: nothing is remembered
    std::vector<std::string> claimed;
    std::vector<std::string> warnings;
};

inline bool is_claim(const std::string& request) {
    return request.find("request_put") != std::string::npos && request.find("\"failure\"") != std::string::npos;
}

} // namespace rdmanet::cluster::test
