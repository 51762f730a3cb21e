// The API server behind a proxy that breaks connections.
#pragma once

#include "fixture.hpp"

#include "support/tcp_proxy.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace rdmanet::cluster::test {

using rdmanet::test::TcpProxy;

inline kube::Access access_of_rdmanet() {
    return kube::read_kubeconfig(*cluster_directory() + "/rdmanet.kubeconfig");
}
[[nodiscard]] inline std::uint16_t server_port() {
    return static_cast<std::uint16_t>(std::stoul(access_of_rdmanet().server.port));
}
[[nodiscard]] inline std::unique_ptr<kube::Api> connect_by(const TcpProxy& proxy) {
    kube::Access access = access_of_rdmanet();
    access.server.port = std::to_string(proxy.port());
    return std::make_unique<kube::Api>(std::move(access), http::Limits{.connect = 60s, .request = 60s});
}

/// Bytes that a conversation takes in each direction.
struct Traffic {
    std::size_t requests = 0;
    std::size_t answers = 0;
};

/// `act(proxy, where)` once for each of so many cuts, evenly spread over the requests, and as many over the answers.
template <class Act>
void cut_at_each(const Traffic& traffic, std::size_t points, Act act) {
    for (std::size_t point = 0; point < 2 * points; ++point) {
        const bool is_request = point < points;
        const std::size_t bytes = (point % points + 1) * (is_request ? traffic.requests : traffic.answers) / points;
        const TcpProxy proxy(server_port(), is_request ? bytes : TcpProxy::kNever,
                             is_request ? TcpProxy::kNever : bytes);
        act(proxy, std::string(is_request ? "requests" : "answers") + " cut after " + std::to_string(bytes) + " bytes");
    }
}

} // namespace rdmanet::cluster::test
