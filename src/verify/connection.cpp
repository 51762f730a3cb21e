#include "connection.hpp"

#include "failure.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace rdmanet::verify {
namespace {

struct FreeList {
    void operator()(ibv_device** list) const noexcept { ::ibv_free_device_list(list); }
};

/// The device of that name in the thread's network namespace, whose sysfs the environment variable SYSFS_PATH names
/// (libibverbs, ibv_get_sysfs_path()). Throws Failure if libibverbs does not see it, and base::SystemError.
Context open_device(const std::string& name) {
    // In the static executable this call is what brings all providers into it (infiniband/verbs.h).
    const std::unique_ptr<ibv_device*, FreeList> list(ibv_get_device_list(nullptr));
    if (!list) throw base::SystemError("list RDMA devices through libibverbs", errno);
    std::vector<std::string> others;
    for (ibv_device** each = list.get(); *each != nullptr; ++each) {
        if (name != ::ibv_get_device_name(*each)) {
            others.emplace_back(::ibv_get_device_name(*each));
            continue;
        }
        Context context(::ibv_open_device(*each));
        if (!context) throw base::SystemError(fmt::format("open RDMA device {}", name), errno);
        return context;
    }
    throw Failure(fmt::format("libibverbs does not find RDMA device {}, it finds {}", name,
                              others.empty() ? "none" : base::join(others)),
                  "the kernel's driver may be newer than rdmanet's libibverbs: look at `rdmanet doctor`");
}

/// What the completion's status says of the way between the ends. It is not IBV_WC_SUCCESS.
Failure failure_of(const ibv_wc& completion, bool is_infiniband) {
    const std::string what =
        fmt::format("{} (status {})", ::ibv_wc_status_str(completion.status), static_cast<int>(completion.status));
    switch (completion.status) {
    case IBV_WC_RETRY_EXC_ERR:
        return {fmt::format("no packet was acknowledged: {}", what),
                is_infiniband
                    ? "check partitions and routes in the subnet manager, and `ping` between the pods' addresses"
                    : "check VLAN, MTU and filters of the switches between the pods, and `ping` between their "
                      "addresses",
                Suspect::way};
    case IBV_WC_RNR_RETRY_EXC_ERR: return {fmt::format("the other end was not ready: {}", what), "run it again"};
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
        return {fmt::format("the other end's device refuses: {}", what),
                "use the same version of rdmanet on both nodes"};
    case IBV_WC_WR_FLUSH_ERR:
        return {fmt::format("the RDMA device has ended the connection: {}", what),
                "look at `dmesg`, and whether the device or the pod has gone"};
    default: break;
    }
    return {fmt::format("the RDMA device reports an error: {}", what), "look at `dmesg` and `rdmanet doctor`"};
}

constexpr std::uint32_t kPacketNumbers = 0xffffff; // 24 bits
constexpr std::uint8_t kAckTimeout = 17;           // 4.096 us * 2^17 = 0.54 s; eight tries of it
constexpr std::uint8_t kRetries = 7;               // the most; for a receiver that is not ready it means "for ever"
constexpr std::uint8_t kReceiverDelay = 12;        // 0.64 ms
constexpr std::uint8_t kHops = 64;

ibv_mtu code_of(unsigned bytes) {
    if (bytes >= 4096) return IBV_MTU_4096;
    if (bytes >= 2048) return IBV_MTU_2048;
    if (bytes >= 1024) return IBV_MTU_1024;
    return bytes >= 512 ? IBV_MTU_512 : IBV_MTU_256;
}

template <class Object>
Object made(Object object, const char* what) {
    if (object) return object;
    if (errno == ENOMEM)
        throw Failure(fmt::format("{}: {}", what, base::errno_text(errno)),
                      "raise the limit of locked memory (`ulimit -l unlimited`), or add the capability IPC_LOCK");
    throw base::SystemError(what, errno);
}

} // namespace

Connection::Connection(const Endpoint& endpoint)
    : context_(open_device(endpoint.device)), port_number_(static_cast<std::uint8_t>(endpoint.port)),
      is_infiniband_(endpoint.is_infiniband), gid_index_(endpoint.gid_index) {
    make_objects();
    find_address(endpoint);
    ibv_qp_attr init{};
    init.qp_state = IBV_QPS_INIT;
    init.port_num = port_number_;
    init.pkey_index = endpoint.pkey_index;
    init.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    change(init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
}

void Connection::make_objects() {
    constexpr std::size_t kPage = 4096;
    constexpr std::size_t kBytes = std::size_t{2} * kLargest;
    memory_.reset(static_cast<unsigned char*>(std::aligned_alloc(kPage, kBytes)));
    if (!memory_) throw base::SystemError("allocate a buffer", ENOMEM);
    std::memset(memory_.get(), 0, kBytes);
    domain_ = made(ProtectionDomain(::ibv_alloc_pd(context_.get())), "allocate a protection domain");
    region_ = made(MemoryRegion(ibv_reg_mr(domain_.get(), memory_.get(), kBytes,
                                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)),
                   "register 128 KiB of memory");
    completions_ = made(CompletionQueue(::ibv_create_cq(context_.get(), 2 * kWindow, nullptr, nullptr, 0)),
                        "make a completion queue");
    ibv_qp_init_attr wanted{};
    wanted.send_cq = completions_.get();
    wanted.recv_cq = completions_.get();
    wanted.cap.max_send_wr = kWindow;
    wanted.cap.max_recv_wr = kWindow;
    wanted.cap.max_send_sge = 1;
    wanted.cap.max_recv_sge = 1;
    wanted.qp_type = IBV_QPT_RC;
    queue_ = made(QueuePair(::ibv_create_qp(domain_.get(), &wanted)), "make a queue pair");
}

void Connection::find_address(const Endpoint& endpoint) {
    if (const int error = ibv_query_port(context_.get(), port_number_, &port_); error != 0)
        throw base::SystemError(fmt::format("ask port {} of {}", endpoint.port, endpoint.device), error);
    ibv_gid gid{};
    if (::ibv_query_gid(context_.get(), port_number_, static_cast<int>(gid_index_), &gid) != 0)
        throw base::SystemError(fmt::format("read GID {} of {}", gid_index_, endpoint.device), errno);
    if (::getrandom(&address_.first_packet, sizeof address_.first_packet, 0) < 0)
        throw base::SystemError("choose a packet number", errno);
    address_.first_packet &= kPacketNumbers;
    address_.number = queue_->qp_num;
    address_.lid = port_.lid;
    std::memcpy(address_.gid.data(), gid.raw, address_.gid.size());
    address_.needs_grh = is_infiniband_ && (port_.flags & IBV_QPF_GRH_REQUIRED) != 0;
    address_.key = region_->rkey;
    address_.memory = reinterpret_cast<std::uintptr_t>(incoming());
}

unsigned Connection::mtu() const {
    return 128U << static_cast<unsigned>(port_.active_mtu); // IBV_MTU_256 is 1
}

void Connection::change(ibv_qp_attr& attributes, int mask, const char* state) {
    if (const int error = ::ibv_modify_qp(queue_.get(), &attributes, mask); error != 0)
        throw Failure(fmt::format("change the queue pair to {}: {}", state, base::errno_text(error)),
                      attributes.qp_state != IBV_QPS_RTR
                          ? "look at `dmesg` and `rdmanet doctor`"
                          : "the kernel must find the other pod's address: `ping` it from this pod, and check VLAN and "
                            "routes",
                      attributes.qp_state == IBV_QPS_RTR ? Suspect::way : Suspect::unknown);
}

void Connection::connect(const QueueAddress& peer, unsigned peers_mtu) {
    peer_ = peer;
    ibv_qp_attr ready{};
    ready.qp_state = IBV_QPS_RTR;
    ready.path_mtu = code_of(std::min(mtu(), peers_mtu));
    ready.dest_qp_num = peer.number;
    ready.rq_psn = peer.first_packet;
    ready.max_dest_rd_atomic = 1;
    ready.min_rnr_timer = kReceiverDelay;
    ready.ah_attr.dlid = peer.lid;
    ready.ah_attr.port_num = port_number_;
    // Between InfiniBand ports, both ends have the header if one of them requires it: a queue pair expects packets as
    // it sends them.
    if (!is_infiniband_ || address_.needs_grh || peer.needs_grh) {
        ready.ah_attr.is_global = 1;
        ready.ah_attr.grh.hop_limit = kHops;
        ready.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index_);
        std::memcpy(ready.ah_attr.grh.dgid.raw, peer.gid.data(), peer.gid.size());
    }
    change(ready,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
               IBV_QP_MIN_RNR_TIMER,
           "RTR");
    ibv_qp_attr send{};
    send.qp_state = IBV_QPS_RTS;
    send.timeout = kAckTimeout;
    send.retry_cnt = kRetries;
    send.rnr_retry = kRetries;
    send.sq_psn = address_.first_packet;
    send.max_rd_atomic = 1;
    change(send,
           IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
               IBV_QP_MAX_QP_RD_ATOMIC,
           "RTS");
}

void Connection::send(unsigned bytes) {
    ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(outgoing()), .length = bytes, .lkey = region_->lkey};
    ibv_send_wr request{};
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    if (const int error = ::ibv_post_send(queue_.get(), &request, &bad); error != 0)
        throw Failure(fmt::format("post a send request: {}", base::errno_text(error)), "look at `dmesg`");
}

void Connection::receive(unsigned bytes) {
    ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(incoming()), .length = bytes, .lkey = region_->lkey};
    ibv_recv_wr request{};
    request.sg_list = &piece;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    if (const int error = ::ibv_post_recv(queue_.get(), &request, &bad); error != 0)
        throw Failure(fmt::format("post a receive request: {}", base::errno_text(error)), "look at `dmesg`");
}

void Connection::write(unsigned bytes, unsigned count) {
    ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(outgoing()), .length = bytes, .lkey = region_->lkey};
    ibv_send_wr request{};
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.wr.rdma.remote_addr = peer_.memory;
    request.wr.rdma.rkey = peer_.key;
    for (unsigned at = 1; at <= count; ++at) {
        request.send_flags = at == count ? static_cast<unsigned>(IBV_SEND_SIGNALED) : 0U;
        ibv_send_wr* bad = nullptr;
        if (const int error = ::ibv_post_send(queue_.get(), &request, &bad); error != 0)
            throw Failure(fmt::format("post a write request: {}", base::errno_text(error)), "look at `dmesg`");
    }
}

unsigned Connection::completed() {
    std::array<ibv_wc, 16> found{};
    const int count = ::ibv_poll_cq(completions_.get(), static_cast<int>(found.size()), found.data());
    if (count < 0) throw base::SystemError("poll the completion queue", EIO);
    for (int at = 0; at < count; ++at)
        if (found.at(static_cast<std::size_t>(at)).status != IBV_WC_SUCCESS)
            throw failure_of(found.at(static_cast<std::size_t>(at)), is_infiniband_);
    return static_cast<unsigned>(count);
}

} // namespace rdmanet::verify
