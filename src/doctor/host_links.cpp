#include "host_links.hpp"

#include "host_socket.hpp"

namespace rdmanet::doctor {

const std::vector<kernel::Link>& HostLinks::links() {
    if (!links_) {
        auto route = open_on_host(inventory_, kernel::Protocol::route);
        links_ = kernel::list_links(route);
    }
    return *links_;
}

const std::vector<kernel::Route>& HostLinks::routes() {
    if (!routes_) {
        auto route = open_on_host(inventory_, kernel::Protocol::route);
        routes_ = kernel::list_routes(route, {.table = kernel::kMainTable});
    }
    return *routes_;
}

} // namespace rdmanet::doctor
