#include "blocks_fixture.hpp"

#include "../ipam/store_under_test.hpp"

#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace rdmanet::cluster::test {
namespace {

/// Pools of whereabouts; each process has a connection of its own. Pools don't know the network of an attachment, so
/// the node's journal says it.
class Pools final : public ipam::test::StoreUnderTest {
public:
    std::unique_ptr<ipam::Store> connect(const std::vector<std::string>& subnets) override {
        auto options = cluster_.options(subnets);
        options.state_directory = directory_.path();
        options.before_claim = [this](const ipam::Lease& lease) { write_down(lease.owner); };
        options.known_owner = [this](const std::string& container, const std::string& ifname) {
            const std::scoped_lock lock(mutex_);
            const auto known = journal_.find({container, ifname});
            return known == journal_.end() ? std::nullopt : std::optional(known->second);
        };
        const std::scoped_lock lock(mutex_);
        return std::make_unique<WhereaboutsStore>(*connections_.emplace_back(cluster_.connect()), std::move(options));
    }
    std::string space() const override { return cluster_.space; }

private:
    void write_down(const ipam::Owner& owner) {
        const std::scoped_lock lock(mutex_);
        journal_.insert_or_assign({owner.key.container_id, owner.key.ifname}, owner);
    }

    ClusterFixture cluster_;
    ipam::test::TemporaryDirectory directory_;
    std::mutex mutex_;
    std::map<std::pair<std::string, std::string>, ipam::Owner> journal_; // by container and interface
    std::vector<std::unique_ptr<kube::Api>> connections_;
};

/// A node, each of whose processes has a connection of its own.
class OneNode final : public ipam::test::StoreUnderTest {
public:
    std::unique_ptr<ipam::Store> connect(const std::vector<std::string>& subnets) override {
        for (const std::string& subnet : subnets) {
            const std::scoped_lock lock(mutex_);
            if (declared_.insert(subnet).second) cluster_.declare(subnet);
        }
        const std::shared_ptr<kube::Api> api = cluster_.connect();
        BlocksStore::Options options;
        options.api = [api]() -> kube::Api& { return *api; };
        options.node_name = name_;
        options.boot_id = boot_;
        options.state_directory = directory_.path();
        return std::make_unique<BlocksStore>(
            std::make_shared<ipam::BlockFile>(
                ipam::BlockFile::Options{.state_directory = directory_.path(), .boot_id = boot_, .known_leases = {}}),
            std::move(options));
    }
    std::string space() const override { return cluster_.space; }

private:
    BlocksFixture cluster_;
    std::mutex mutex_;
    std::set<std::string> declared_;
    ipam::test::TemporaryDirectory directory_;
    std::string boot_ = cluster_.space + "-boot";
    std::string name_ = cluster_.make_node("a", boot_);
};

} // namespace
} // namespace rdmanet::cluster::test

std::vector<rdmanet::ipam::test::StoreKindUnderTest> rdmanet::ipam::test::stores_under_test() {
    using namespace cluster::test;
    if (!ClusterFixture::is_there()) {
        rdmanet::test::mark_skipped(kNeedsServer);
        return {};
    }
    return {{.name = "whereabouts", .make = [] { return std::make_unique<Pools>(); }},
            {.name = "blocks", .make = [] { return std::make_unique<OneNode>(); }}};
}
