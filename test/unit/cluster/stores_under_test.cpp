#include "etcd_fixture.hpp"

#include "../ipam/store_under_test.hpp"

namespace rdmanet::cluster::test {
namespace {

class Etcd final : public ipam::test::StoreUnderTest {
public:
    explicit Etcd(std::string cluster) : cluster_(std::move(cluster)) {}

    std::unique_ptr<ipam::Store> connect() override {
        return std::make_unique<EtcdStore>(connect_to(servers_of(cluster_)), etcd_options(prefix_));
    }
    std::string space() const override { return ""; }

private:
    std::string cluster_;
    std::string prefix_ = own_prefix();
};

std::unique_ptr<ipam::test::StoreUnderTest> make_etcd(const std::string& cluster) {
    if (etcd_directory()) return std::make_unique<Etcd>(cluster);
    rdmanet::test::mark_skipped(kNeedsEtcd);
    return nullptr;
}

} // namespace
} // namespace rdmanet::cluster::test

std::vector<rdmanet::ipam::test::StoreKindUnderTest> rdmanet::ipam::test::stores_under_test() {
    using cluster::test::make_etcd;
    return {{.name = "etcd with one member", .make = [] { return make_etcd("one"); }},
            {.name = "etcd with three members", .make = [] { return make_etcd("three"); }},
            {.name = "etcd with TLS and users", .make = [] { return make_etcd("secure"); }}};
}
