// The stores that the cases of store_cases.cpp are about. Each test program has its own list.
#pragma once

#include <rdmanet/ipam/store.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rdmanet::ipam::test {

/// Leases that no other case knows.
class StoreUnderTest {
public:
    StoreUnderTest() = default;
    StoreUnderTest(const StoreUnderTest&) = delete;
    StoreUnderTest& operator=(const StoreUnderTest&) = delete;
    virtual ~StoreUnderTest() = default;

    /// The store as one process uses it, for a network whose ranges are these subnets.
    [[nodiscard]] virtual std::unique_ptr<Store> connect(const std::vector<std::string>& subnets) = 0;
    /// Of claims.
    [[nodiscard]] virtual std::string space() const = 0;
};

struct StoreKindUnderTest {
    std::string name;
    std::function<std::unique_ptr<StoreUnderTest>()> make;
};
[[nodiscard]] std::vector<StoreKindUnderTest> stores_under_test();

} // namespace rdmanet::ipam::test
