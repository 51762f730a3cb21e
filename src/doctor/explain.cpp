// Texts of errors that people bring, and what causes them.
#include <rdmanet/doctor/doctor.hpp>

#include <rdmanet/base/text.hpp>

#include <algorithm>

namespace rdmanet::doctor {
namespace {

// perftest prints only the number of a status (enum ibv_wc_status).
constexpr std::string_view kLost =
    "packets do not arrive: the peer has ended, an end has the GID index of RoCE v1 or of another pod, the VLAN, the "
    "route or the MTU is wrong, or the fabric loses packets";
constexpr std::string_view kInvalid =
    "the peer does not accept the request: mostly the two ends have different MTUs, which programs set with -m";
constexpr std::string_view kMemory =
    "the process may lock too little memory: add the capability IPC_LOCK to the container and run it as root, or raise "
    "the runtime's LimitMEMLOCK";
// ib_modify_qp() finds the Ethernet address of a RoCE peer, and waits for ARP or neighbour discovery
// (ib_resolve_eth_dmac(), core/verbs.c).
constexpr std::string_view kNoNeighbour =
    "the kernel found no Ethernet address for the peer's GID: the VLAN or the route is wrong, the peer is not there, "
    "or the GID is of another network: `ping` the peer's address from the pod's interface";
constexpr std::string_view kBadGid =
    "the GID index is empty or of another type, or the other end has another MTU: use the GID index of RoCE v2 that "
    "`rdmanet inventory` shows, and one MTU at both ends";
constexpr std::string_view kNoBuffers = "the receiver posts too few buffers: this is the program's matter";

/// In this order, with anything between.
bool has_parts(std::string_view text, std::string_view pattern) {
    constexpr std::string_view kBetween = " ... ";
    for (std::size_t at = 0; at <= pattern.size();) {
        const std::size_t end = std::min(pattern.find(kBetween, at), pattern.size());
        const std::string part = base::to_lower(pattern.substr(at, end - at));
        const std::size_t place = text.find(part);
        if (place == std::string_view::npos) return false;
        text.remove_prefix(place + part.size());
        at = end + kBetween.size();
    }
    return true;
}

constexpr Explanation kExplanations[] = {
    {"RDMA device \"issm\" not found", "ib_umad is not loaded: `modprobe ib_umad`", "core-modules"},
    {"RDMA device \"umad\" not found", "ib_umad is not loaded: `modprobe ib_umad`", "core-modules"},
    {"RDMA device \"rdma_cm\" not found", "rdma_ucm is not loaded: `modprobe rdma_ucm`", "core-modules device-files"},
    {"RDMA device \"uverbs\" not found", "ib_uverbs is not loaded: `modprobe ib_uverbs`", "core-modules device-files"},
    {"incorrect RDMA subsystem network namespace",
     "the RDMA shared device plugin runs on a node in mode exclusive: use it on nodes in mode shared", "mode-at-boot"},
    {"Are RDMA modules loaded?",
     "the SR-IOV device plugin started before the RDMA driver was ready: restart the device plugin",
     "rdma-driver enable-roce rdma-devices"},
    {"IB device ... not found",
     "the container has no uverbs file of that device, or the device has another name: request the device plugin's "
     "resource, and look at `rdmanet inventory`",
     "pod-device-files pod-rdma"},
    {"Unable to find the Infiniband/RoCE device",
     "the container has no uverbs file of that device, or the device has another name: look at `rdmanet inventory`",
     "pod-device-files pod-rdma"},
    {"No IB devices found", "the container has no RDMA device, no uverbs file, or no provider library",
     "pod-rdma pod-device-files pod-provider"},
    {"No RDMA devices were detected", "the container has no RDMA device, no uverbs file, or no provider library",
     "pod-rdma pod-device-files pod-provider"},
    {"Port number 1 state is Down", "the port has no link, or its interface is down", "port-state parent-up"},
    {"Couldn't allocate MR", kMemory, "pod-memlock"},
    {"Couldn't register MR", kMemory, "pod-memlock"},
    {"ibv_reg_mr ... Cannot allocate memory", kMemory, "pod-memlock"},
    {"ibv_create_cq ... Cannot allocate memory", kMemory, "pod-memlock"},
    {"RLIMIT_MEMLOCK", kMemory, "pod-memlock"},
    {"Cannot allocate memory", kMemory, "pod-memlock", Reach::general},
    {"ENOMEM", kMemory, "pod-memlock", Reach::general},
    {"to RTR ... Connection timed out", kNoNeighbour, "pod-interface port-state"},
    {"ibv_modify_qp ... Connection timed out", kNoNeighbour, "pod-interface port-state"},
    {"to RTR ... Invalid argument", kBadGid, "pod-gids mtu"},
    {"ibv_modify_qp ... Invalid argument", kBadGid, "pod-gids mtu"},
    {"Failed to modify QP ... to RTR",
     "with \"Connection timed out\", a wrong VLAN or route, or no peer. Otherwise the GID index is empty or of another "
     "type, the other end has another MTU, or the GID is of another pod: use the GID index of RoCE v2 that `rdmanet "
     "inventory` shows",
     "pod-gids mtu", Reach::general},
    {"can't read sgid of index", "the GID table is shorter: use the GID index that `rdmanet inventory` shows",
     "pod-gids"},
    {"Gid index should be between",
     "this version of perftest takes no greater GID index: use -R, which needs none, or a newer version", ""},
    {"Found Incompatibility issue with GID types",
     "the two ends have GIDs of different kinds: use the GID index of RoCE v2 that `rdmanet inventory` shows for "
     "each",
     "pod-gids"},
    {"Couldn't read/write remote address", "the other end ended before the connection was made: its output says why",
     ""},
    {"transport retry counter exceeded", kLost, "port-state pod-interface mtu vf-mtu pfc pod-gids"},
    {"Failed status 12:", kLost, "port-state pod-interface mtu vf-mtu pfc pod-gids"},
    {"remote invalid request error", kInvalid, "mtu"},
    {"Failed status 9:", kInvalid, "mtu"},
    {"RNR retry counter exceeded", kNoBuffers, ""},
    {"Failed status 13:", kNoBuffers, ""},
    {"RDMA_CM_EVENT_ADDR_ERROR", "no RDMA device is behind the source address in this network namespace",
     "apart pod-rdma"},
    {"RDMA_CM_EVENT_UNREACHABLE", "the connection manager's packets do not arrive: check VLAN, route and MTU",
     "port-state mtu default-roce"},
    {"RDMA_CM_EVENT_REJECTED", "nobody listens on that port of the peer, or the peer refused", ""},
    {"Message too long",
     "a packet is larger than the MTU on its way; if ADD or `ip link` says it, the PF has more VFs than an answer of "
     "the "
     "kernel can list: create fewer VFs",
     "mtu"},
    {"failed to set netns: device or resource busy",
     "the RDMA mode cannot change while other network namespaces exist: set it at boot", "mode-at-boot"},
    {"RTNETLINK answers: Device or resource busy",
     "the parent has children of the other kind (macvlan or ipvlan), or it is a port of a bridge or bond: use one kind "
     "for all networks of a parent, and not a port",
     "networks definitions"},
    {"PSECURE_VIOLATION",
     "the switch allows few MAC addresses on the port, and each macvlan child has its own: allow more on the switch, "
     "or set \"attach\": \"ipvlan\"",
     ""},
    {"udp ... 4791",
     "RoCE v2 uses UDP port 4791. The NIC handles these packets itself, so firewall rules and tcpdump of the host do "
     "not see them; only rdma_rxe uses the host's stack",
     ""},
    {"text file busy", "the plugin's binary was overwritten while it ran: copy it beside, then rename it", "plugin"},
    {"netplugin failed with no error message",
     "the plugin was killed, mostly because the pod of Multus has too little memory", ""},
    {"NET/IB : No device found",
     "NCCL found no usable RDMA device: memory limit, device files, provider library or port",
     "pod-memlock pod-device-files pod-provider port-state"},
    {"Got completion ... status=12", kLost, "port-state pod-interface mtu vf-mtu pfc pod-gids"},
    {"Got completion from peer ... error 12", kLost, "port-state pod-interface mtu vf-mtu pfc pod-gids"},
    {"Call to ibv_reg_mr failed", kMemory, "pod-memlock"},
    {"couldn't load driver",
     "the image has no provider library of that name, or one of another version of libibverbs: install "
     "ibverbs-providers of the same release as libibverbs in the image",
     "pod-provider"},
    {"UCX ... network device ... is not available",
     "UCX_NET_DEVICES names a device that the pod does not have, or whose port is down: take the name that `rdmanet "
     "inventory` shows for the pod",
     "pod-rdma pod-device-files port-state"},
    {"multus.sock", "Multus' daemon does not run on this node, or has just been restarted", "multus"},
    {"CNI request failed with status 400", "Multus' daemon passes on an error of a plugin: explain the part behind it",
     "", Reach::general},
    {"NET/Socket", "NCCL found no usable RDMA device: memory limit, device files, provider library or port",
     "pod-memlock pod-device-files pod-provider port-state"},
    {"File exists", "the interface's name is taken in the pod or on the host", "records attachments"},
    {"Unauthorized", "the token in a kubeconfig has expired: Multus and whereabouts have one each in /etc/cni/net.d",
     "tokens"},
    {"failed to find plugin ... in path",
     "the plugin's binary is in none of these directories: put it in one of them on this node, and see "
     "docs/install.md for rdmanet",
     "plugin"},
    {"cannot find a network-attachment-definition",
     "the pod's annotation names a NetworkAttachmentDefinition that is not in that namespace: compare it with `kubectl "
     "get network-attachment-definitions -A`, and write NAMESPACE/NAME in the annotation",
     ""},
    {"Insufficient",
     "no node has enough left of the resource that is named. If it is one of a device plugin, the plugin does not "
     "offer it, or other pods have it all: see Allocatable in `kubectl describe node`",
     "resources taints", Reach::general},
    {"plugin type= ... rdmanet ... failed (",
     "rdmanet says what to do at the end of the message: docs/troubleshooting.md, \"Messages of ADD\", has more", "",
     Reach::general},
    {"FailedCreatePodSandBox",
     "the rest of the event says why: explain that part, or look it up in docs/troubleshooting.md", "", Reach::general},
};

/// False if the line has no text of this reach.
bool add_explanations(std::string_view line, Reach reach, std::vector<Explanation>& found) {
    const std::string lower = base::to_lower(line);
    bool any = false;
    for (const Explanation& each : kExplanations) {
        if (each.reach != reach || !has_parts(lower, each.text)) continue;
        any = true;
        if (std::ranges::none_of(found, [&](const Explanation& other) { return other.cause == each.cause; }))
            found.push_back(each);
    }
    return any;
}

} // namespace

std::span<const Explanation> list_explanations() {
    return kExplanations;
}

std::vector<Explanation> explain(std::string_view text) {
    std::vector<Explanation> found;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (!add_explanations(line, Reach::special, found)) add_explanations(line, Reach::general, found);
    }
    return found;
}

} // namespace rdmanet::doctor
