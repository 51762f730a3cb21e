#include "fixture.hpp"
#include "store_under_test.hpp"

namespace rdmanet::ipam::test {
namespace {

class Node final : public StoreUnderTest {
public:
    std::unique_ptr<Store> connect(const std::vector<std::string>& /*subnets*/) override {
        return std::make_unique<LeaseFile>(
            LeaseFile::Options{.state_directory = directory_.path(), .known_leases = {}});
    }
    std::string space() const override { return "space"; }

private:
    TemporaryDirectory directory_;
};

} // namespace

std::vector<StoreKindUnderTest> stores_under_test() {
    return {{.name = "node", .make = [] { return std::make_unique<Node>(); }}};
}

} // namespace rdmanet::ipam::test
