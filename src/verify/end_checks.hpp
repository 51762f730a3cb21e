// The checks of one end by topic. Each needs that those before it have passed.
#pragma once

#include <rdmanet/inventory/inventory.hpp>
#include <rdmanet/verify/endpoint.hpp>

#include <string>
#include <utility>

namespace rdmanet::verify {

/// Collects what is found about one end.
class EndChecks {
public:
    explicit EndChecks(Endpoint endpoint) { found_.endpoint = std::move(endpoint); }

    [[nodiscard]] Endpoint& endpoint() { return found_.endpoint; }
    [[nodiscard]] FoundEndpoint take() { return std::move(found_); }

    // Each returns whether the next check can be made.
    bool passed(const std::string& id, const std::string& what);
    bool warned(const std::string& id, const std::string& what, const std::string& fix);
    bool failed(const std::string& id, const std::string& what, const std::string& fix);

private:
    FoundEndpoint found_;
};

/// The interface, its partition, carrier and addresses. `interface` is nullptr if the pod has none with RDMA.
[[nodiscard]] bool check_interface_of(EndChecks& checks, const inventory::Interface* interface);
/// Its RDMA device, port, GID and file.
[[nodiscard]] bool check_device_of(EndChecks& checks, const inventory::Inventory& inventory,
                                   const inventory::Interface& interface);

} // namespace rdmanet::verify
