// The API server that RDMANET_CLUSTER names (test/cluster/cluster.sh run), as benchmarks use it: objects that are there
// before the measured time, and the server's own count of requests.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/http/client.hpp>
#include <rdmanet/kube/api.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace rdmanet::test {

/// What the server has counted since it started, for the objects of all stores, their Leases and Nodes.
struct Requests {
    double all = 0;
    double cpu_seconds = 0; // that it has used, for whatever

    friend Requests operator-(const Requests& later, const Requests& earlier) {
        return {later.all - earlier.all, later.cpu_seconds - earlier.cpu_seconds};
    }
};

class ApiServer {
public:
    /// Throws if there is none.
    ApiServer();

    [[nodiscard]] static bool is_there();
    /// As a user whose rights are those of the example, or as "admin".
    [[nodiscard]] static kube::Access access(const std::string& user);
    [[nodiscard]] static std::unique_ptr<kube::Api> connect(const std::string& user = "rdmanet");

    [[nodiscard]] Requests count();
    /// As kubelet makes it.
    void make_node(const std::string& name, const std::string& boot);
    /// A pool of whereabouts with so many records of pods, from the first address on.
    /// An AddressRange with blocks of the default size.
    void declare_range(const std::string& space, const std::string& range);
    void make_pool(const std::string& space, const std::string& subnet, unsigned records);
    void delete_pool(const std::string& space, const std::string& subnet);

private:
    kube::Access admin_;
    http::Client client_;
    std::unique_ptr<kube::Api> api_;
};

/// Time for everything that a benchmark prepares.
[[nodiscard]] base::Deadline with_patience();

} // namespace rdmanet::test
