#include <rdmanet/kernel/rdma.hpp>

#include "message.hpp"
#include "parse.hpp"

#include <rdmanet/base/format.hpp>

#include <rdma/rdma_netlink.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rdmanet::kernel {
namespace {

Message request_of(int command, std::uint32_t index) {
    Message request(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), 0);
    request.put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, index);
    return request;
}

Message request_of_uverbs(std::uint32_t index) {
    Message request = request_of(RDMA_NLDEV_CMD_GET_CHARDEV, index);
    request.put_text(RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs");
    return request;
}

void parse_contexts(const nlmsghdr& message, std::vector<unsigned>& users) {
    const Attributes contexts = attributes_of(message).nest(RDMA_NLDEV_ATTR_RES_CTX);
    for (const Bytes entry : contexts.find_all(RDMA_NLDEV_ATTR_RES_CTX_ENTRY))
        users.push_back(Attributes(entry).find_u32(RDMA_NLDEV_ATTR_RES_PID).value_or(0));
}

void append_of_kernel(const Attributes& list, int entry, std::vector<KernelQueuePair>& found) {
    for (const Bytes bytes : list.find_all(entry)) {
        const Attributes attributes(bytes);
        const auto number = attributes.find_u32(RDMA_NLDEV_ATTR_RES_LQPN);
        std::string module = attributes.text(RDMA_NLDEV_ATTR_RES_KERN_NAME);
        if (number && !module.empty()) found.push_back({*number, std::move(module)});
    }
}

/// Each value once: a list may be read several times.
void append_pairs(const nlmsghdr& message, std::vector<KernelQueuePair>& pairs) {
    for (KernelQueuePair& pair : parse_kernel_queue_pairs(message))
        if (std::none_of(pairs.begin(), pairs.end(), [&](const auto& each) { return each.number == pair.number; }))
            pairs.push_back(std::move(pair));
}

/// Objects that the kernel tracks for a device (drivers/infiniband/core/restrack.c).
template <class T, class Parse>
std::vector<T> list_resources(Socket& rdma, int command, std::uint32_t index, std::string_view what,
                              const Parse& parse) try {
    Message request = request_of(command, index);
    return rdma.list<T>(request, fmt::format("list {} of RDMA device number {}", what, index), parse);
} catch (const NetlinkError& error) {
    // EINVAL also means that the device is gone, which has none.
    if (error.errno_value() == EINVAL || error.errno_value() == EOPNOTSUPP || error.errno_value() == ENODEV) return {};
    throw;
}

/// A queue pair has the name of the module that called ib_create_qp(). For nvme_rdma, rpcrdma and others that is RDMA
/// CM (drivers/infiniband/core/cma.c, rdma_create_qp()).
bool is_made_by_cm(const KernelQueuePair& pair) {
    return pair.module == "rdma_cm";
}

/// The connection has the name of the module that asked for it.
void name_askers(Socket& rdma, std::uint32_t index, std::vector<KernelQueuePair>& pairs) {
    const auto connections =
        list_resources<KernelQueuePair>(rdma, RDMA_NLDEV_CMD_RES_CM_ID_GET, index, "connections", append_pairs);
    for (KernelQueuePair& pair : pairs) {
        if (!is_made_by_cm(pair)) continue;
        const auto asker = std::find_if(connections.begin(), connections.end(),
                                        [&](const auto& each) { return each.number == pair.number; });
        if (asker != connections.end()) pair.module = asker->module;
    }
}

/// The kernel asks the driver about each queue pair. One that the driver cannot describe ends the list
/// (res_get_common_dumpit(), drivers/infiniband/core/nldev.c). The earlier ones count.
std::vector<KernelQueuePair> list_told_pairs(Socket& rdma, std::uint32_t index) {
    std::vector<KernelQueuePair> pairs;
    try {
        (void)list_resources<KernelQueuePair>(
            rdma, RDMA_NLDEV_CMD_RES_QP_GET, index, "queue pairs",
            [&](const nlmsghdr& message, std::vector<KernelQueuePair>&) { append_pairs(message, pairs); });
    } catch (const NetlinkError&) { // not a reason to refuse a device
    }
    return pairs;
}

} // namespace

std::vector<KernelQueuePair> parse_kernel_queue_pairs(const nlmsghdr& message) {
    const Attributes attributes = attributes_of(message);
    std::vector<KernelQueuePair> found;
    append_of_kernel(attributes.nest(RDMA_NLDEV_ATTR_RES_QP), RDMA_NLDEV_ATTR_RES_QP_ENTRY, found);
    append_of_kernel(attributes.nest(RDMA_NLDEV_ATTR_RES_CM_ID), RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY, found);
    return found;
}

std::vector<unsigned> list_rdma_users(Socket& rdma, std::uint32_t index) {
    return list_resources<unsigned>(rdma, RDMA_NLDEV_CMD_RES_CTX_GET, index, "users", parse_contexts);
}

std::vector<KernelQueuePair> list_kernel_queue_pairs(Socket& rdma, std::uint32_t index) {
    auto pairs = list_told_pairs(rdma, index);
    if (std::any_of(pairs.begin(), pairs.end(), is_made_by_cm)) name_askers(rdma, index, pairs);
    return pairs;
}

std::optional<std::uint32_t> find_verbs_driver(Socket& rdma, std::uint32_t index) {
    Message request = request_of_uverbs(index);
    const Answer answer = rdma.ask(request);
    if (answer.errno_value != 0 || answer.message == nullptr) return std::nullopt;
    return attributes_of(*answer.message).find_u32(RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID);
}

std::optional<std::string> find_uverbs(Socket& rdma, std::uint32_t index) {
    Message request = request_of_uverbs(index);
    const Answer answer = rdma.ask(request);
    if (answer.errno_value != 0 || answer.message == nullptr) return std::nullopt;
    std::string name = attributes_of(*answer.message).text(RDMA_NLDEV_ATTR_CHARDEV_NAME);
    return name.empty() ? std::nullopt : std::optional(std::move(name));
}

} // namespace rdmanet::kernel
