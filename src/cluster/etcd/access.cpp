#include <rdmanet/cluster/etcd_access.hpp>

namespace rdmanet::cluster {

etcd::Access read_etcd_access(const ipam::EtcdServers& servers) {
    return etcd::read_access({.endpoints = servers.endpoints,
                              .ca = servers.ca,
                              .certificate = servers.certificate,
                              .key = servers.key,
                              .username = servers.username,
                              .password_file = servers.password_file});
}

} // namespace rdmanet::cluster
