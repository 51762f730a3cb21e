#include "blocks_fixture.hpp"
#include "etcd_fixture.hpp"

#include "../ipam/store_under_test.hpp"

namespace rdmanet::cluster::test {
namespace {

class Etcd final : public ipam::test::StoreUnderTest {
public:
    explicit Etcd(std::string cluster) : cluster_(std::move(cluster)) {}

    std::unique_ptr<ipam::Store> connect() override {
        return make_etcd_store(connect_to(servers_of(cluster_)), etcd_options(prefix_));
    }
    std::string space() const override { return ""; }

private:
    std::string cluster_;
    std::string prefix_ = own_prefix();
};

/// A node, each of whose processes has a connection of its own.
class OneNode final : public ipam::test::StoreUnderTest {
public:
    std::unique_ptr<ipam::Store> connect() override {
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
    ipam::test::TemporaryDirectory directory_;
    std::string boot_ = cluster_.space + "-boot";
    std::string name_ = cluster_.make_node("a", boot_);
};

} // namespace
} // namespace rdmanet::cluster::test

std::vector<rdmanet::ipam::test::StoreKindUnderTest> rdmanet::ipam::test::stores_under_test() {
    using namespace cluster::test;
    std::vector<StoreKindUnderTest> stores;
    if (ClusterFixture::is_there())
        stores.push_back({.name = "blocks", .make = [] { return std::make_unique<OneNode>(); }});
    if (etcd_directory()) {
        stores.push_back({.name = "etcd with one member", .make = [] { return std::make_unique<Etcd>("one"); }});
        stores.push_back({.name = "etcd with three members", .make = [] { return std::make_unique<Etcd>("three"); }});
        stores.push_back({.name = "etcd with TLS and users", .make = [] { return std::make_unique<Etcd>("secure"); }});
    }
    if (stores.empty())
        rdmanet::test::mark_skipped("a cluster: run it by test/cluster/cluster.sh or test/cluster/etcd.sh");
    return stores;
}
