// Who holds an address.
#pragma once

#include <rdmanet/base/ip_address.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace rdmanet::ipam {

/// An attachment, as the CNI specification identifies it.
struct OwnerKey {
    std::string network; // the CNI network's name
    std::string container_id;
    std::string ifname;

    friend bool operator==(const OwnerKey&, const OwnerKey&) = default;
};

/// An attachment, with the data that shows later whether it still exists.
struct Owner {
    OwnerKey key;
    std::string pod_namespace; // empty outside Kubernetes, like the next two
    std::string pod_name;
    std::string pod_uid;
    std::string netns_path;
    std::uint64_t netns_cookie = 0; // what netns_path led to: the kernel's cookie, 0 before Linux 5.14, and the inode,
    std::uint64_t netns_inode = 0;  // which a later namespace may get again
    std::uint64_t pid_view = 0;     // whose /proc can prove the network namespace dead (kernel::ProcView::id())
    std::string boot_id;
    /// The name of the node that it is on, if that is not this one: then nothing here proves whether it lives.
    std::string other_node;

    /// What stays the same when kubelet retries with a new container: the UID, or NAMESPACE/NAME from runtimes that
    /// pass no UID. Empty outside Kubernetes.
    [[nodiscard]] std::string pod_identity() const;

    /// Of namespace and name of the pod, interface and network: what stays the same when a StatefulSet makes a pod again.
    /// 0 outside Kubernetes.
    [[nodiscard]] std::uint64_t name_hash() const;

    /// `pod "ns/name", container "b", interface "net1", network "a"`, for messages.
    [[nodiscard]] std::string to_string() const;

    friend bool operator==(const Owner&, const Owner&) = default;
};

/// A leased address. Within a space no address is given twice. Equal addresses in different spaces are independent.
struct Lease {
    /// `network_name` of the configuration; with `enable_overlapping_ranges: false` followed by '@' and the range.
    std::string space;
    /// The position among the owner's addresses: first the ranges, then the static addresses.
    unsigned slot = 0;
    base::IpPrefix address; // with the prefix length of the range's subnet
    Owner owner;
    std::int64_t since = 0; // seconds since the epoch
    std::chrono::seconds cooldown{30};

    friend bool operator==(const Lease&, const Lease&) = default;
};

} // namespace rdmanet::ipam
