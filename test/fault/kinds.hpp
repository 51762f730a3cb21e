// The kinds of attachments that are killed and failed at every system call.
#pragma once

/// Calls EACH(name, tags, kind, ipam, commands), one test case for each. kinds_in_cluster() has those of the cluster.
#define RDMANET_FAULT_KINDS(EACH)                                                                                      \
    EACH("macvlan with the built-in allocator", "[macvlan]", "macvlan", built_in, kAllCommands)                        \
    EACH("addresses for another plugin's interface", "[ipam-only]", "ipam-only", built_in, kAllCommands)               \
    EACH("a macvlan in passthru mode", "[passthru]", "passthru", built_in, kAddAndDel)                                 \
    EACH("ipvlan with the built-in allocator", "[ipvlan]", "ipvlan", built_in, kAddAndDel)                             \
    EACH("a VF with the built-in allocator", "[sriov]", "sriov", built_in, kAddAndDel)                                 \
    EACH("a VF that is reset", "[reset]", "reset", built_in, kAddAndDel)                                               \
    EACH("a VF with a representor", "[switchdev]", "switchdev", built_in, kAddAndDel)                                  \
    EACH("an RDMA device behind another plugin's interface", "[rdma-only]", "rdma", built_in, kAddAndDel)              \
    EACH("a whole function", "[host-device]", "host-device", built_in, kAddAndDel)                                     \
    EACH("a virtual interface", "[virtual]", "virtual", built_in, kAddAndDel)                                          \
    EACH("a sub-function", "[subfunction]", "subfunction", built_in, kAddAndDel)                                       \
    EACH("a VF of vfio-pci", "[vfio]", "vfio", built_in, kAddAndDel)                                                   \
    EACH("an IPoIB child", "[ipoib]", "ipoib", built_in, kAddAndDel)                                                   \
    EACH("an InfiniBand VF with another GUID", "[infiniband]", "infiniband", built_in, kAddAndDel)                     \
    EACH("macvlan with host-local", "[macvlan][host-local]", "macvlan", host_local, kAddAndDel)                        \
    EACH("ipvlan with host-local", "[ipvlan][host-local]", "ipvlan", host_local, kAddAndDel)
