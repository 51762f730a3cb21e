// A range that goes from one store to another and back.
#pragma once

#include "blocks_fixture.hpp"

#include "reconcile/held.hpp"

#include <rdmanet/cluster/migrate.hpp>
#include <rdmanet/cluster/reconcile.hpp>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace rdmanet::cluster::test {

inline const std::string kPoolsOfMoves = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/ippools";

class Moves : public BlocksFixture {
public:
    std::string kRange = "10.0.0.0/26";

    MigrateOptions options_to(const std::string& store) {
        MigrateOptions options;
        options.places = {{.space = space, .subnet = prefix(kRange)}};
        options.to = store;
        options.pause = std::chrono::seconds(0);
        return options;
    }
    /// "held" of the range after the move; or why it is refused.
    std::string migrate_to(const std::string& store, kube::Api& api) { return migrate_by(options_to(store), api); }
    std::string migrate_by(const MigrateOptions& options, kube::Api& api) {
        try {
            std::vector<MigratedRange> moved;
            migrate(api, options, moved, soon());
            return held_text(moved.at(0));
        } catch (const base::Error& error) {
            return error.what();
        }
    }
    std::string migrate_to(const std::string& store) { return migrate_to(store, *admin); }
    static std::string held_text(const MigratedRange& range) {
        std::string text = range.is_moved ? "moved" : "not moved";
        for (const ipam::Interval& held : range.held)
            text += " " + base::IpAddress(base::Family::v4, held.first).to_string() + "-" +
                    base::IpAddress(base::Family::v4, held.last).to_string();
        return text;
    }

    std::string add_to_pool(const std::string& container) { return add_to_pool(container, claim(kRange)); }
    std::string add_to_pool(const std::string& container, const ipam::Claim& one) {
        const auto api = connect();
        WhereaboutsStore store(*api, options_of_pools());
        return add_to_pool(store, container, one);
    }
    /// What plan and STATUS find out.
    std::string usage_of_pool() try {
        const auto api = connect();
        WhereaboutsStore store(*api, options_of_pools());
        return std::to_string(store.usage(claim(kRange), soon()).leases) +
               (store.has_free(claim(kRange), soon()) ? " leases" : " leases, full");
    } catch (const base::Error& error) {
        return error.what();
    }
    static std::string add_to_pool(WhereaboutsStore& store, const std::string& container, const ipam::Claim& one) try {
        return text_of(store.reserve(owner(container, "pod-" + container), {one}, soon()));
    } catch (const base::Error& error) {
        return error.what();
    }
    WhereaboutsStore::Options options_of_pools() {
        WhereaboutsStore::Options own = options({kRange});
        own.before_claim = nullptr;
        own.node.name = "pools";
        return own;
    }
    std::string release_in_pool(const std::string& container) {
        return text_of(
            WhereaboutsStore(*admin, options({kRange})).release(owner(container, "pod-" + container).key, soon()));
    }
    /// The pool of a node with `node_slice_size`, in which whereabouts has given 10.0.0.17. Returns its path.
    std::string make_slice(const std::string& node) {
        const std::string name = space + "-" + node + "-10.0.0.16-28";
        create(kPoolsOfMoves,
               R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":")" + name +
                   R"("},"spec":{"range":"10.0.0.16/28","allocations":{"1":{"id":"c","podref":"a/b"}}}})");
        return kPoolsOfMoves + "/" + name;
    }
    std::string add_to_block(TestNode& node, const std::string& container) {
        return add_to_block(node, container, claim(kRange));
    }
    static std::string add_to_block(TestNode& node, const std::string& container, const ipam::Claim& one) {
        try {
            node.start();
            const auto outcome = node.store->reserve(owner(container, "pod-" + container), {one}, soon());
            const auto* none = std::get_if<ipam::Exhausted>(&outcome);
            return none != nullptr && none->refusal ? none->refusal->what() : text_of(outcome);
        } catch (const base::Error& error) {
            return error.what();
        }
    }
    /// All that the node can get of the range.
    std::set<std::string> fill(TestNode& node) {
        std::set<std::string> all;
        for (int count = 0; count < 100; ++count) {
            const std::string got = add_to_block(node, node.name() + std::to_string(all.size()));
            if (!is_address(got) || !all.insert(got).second) break;
        }
        return all;
    }
    /// What the store says of a full range.
    std::string why_full(ipam::Store& store) {
        const auto outcome = store.reserve(owner("one-more", "pod-one-more"), {claim(kRange)}, soon());
        const auto* none = std::get_if<ipam::Exhausted>(&outcome);
        return none == nullptr ? text_of(outcome) : none->detail;
    }
    static bool is_address(const std::string& outcome) {
        return outcome.size() < 20 && outcome.find('/') != std::string::npos;
    }

    /// "STORE", with "unconfirmed" and what it holds.
    std::string recorded() {
        std::string text;
        for_each(kRangesPath, [&](const json::Reader& object) {
            const json::Reader spec = object.at("spec");
            if (spec.at("space").string() != space) return;
            text += spec.at("store").string() + (spec.at("confirmed").boolean() ? "" : " unconfirmed");
            if (const auto held = spec.find("held")) text += " " + held->to_text();
        });
        return text;
    }
    /// What reconciling finds of the range: "ADDRESS", or "kept: WHY".
    std::string reconcile_range(ReconcileOptions::Act act, kube::Api& api) {
        Reconciled result;
        reconcile_ranges(api, act, soon(), result);
        std::string text;
        for (const Left& left : result.freed)
            if (left.object.starts_with(space + "-")) text += (text.empty() ? "" : " ") + left.address;
        for (const Left& left : result.kept)
            if (left.object.starts_with(space + "-")) text += "kept: " + left.why;
        return text;
    }
    std::string reconcile_range() { return reconcile_range(ReconcileOptions::Act::frees, *admin); }

    /// Every object of the space, as the server has it.
    std::string everything() {
        std::string text;
        for (const std::string& path : {kPoolsOfMoves, std::string(kRangesPath), std::string(kBlocksPath)})
            for_each(path, [&](const json::Reader& object) {
                if (object.to_text().find(space) != std::string::npos) text += object.to_text() + "\n";
            });
        return text;
    }
};

} // namespace rdmanet::cluster::test
