#include <rdmanet/kernel/rdma.hpp>

#include "list.hpp"
#include "message.hpp"

#include <rdmanet/base/text.hpp>

#include <rdma/rdma_netlink.h>

#include <cerrno>

namespace rdmanet::kernel {
namespace {

using base::concat;

Message request_of(int command, std::uint32_t index) {
    Message request(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), 0);
    request.put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, index);
    return request;
}

void parse_contexts(const nlmsghdr& message, std::vector<unsigned>& users) {
    const Attributes contexts = Attributes(payload_of(message)).nest(RDMA_NLDEV_ATTR_RES_CTX);
    for (const Bytes entry : contexts.find_all(RDMA_NLDEV_ATTR_RES_CTX_ENTRY))
        users.push_back(Attributes(entry).find_u32(RDMA_NLDEV_ATTR_RES_PID).value_or(0));
}

} // namespace

std::vector<unsigned> list_rdma_users(Socket& rdma, std::uint32_t index) try {
    Message request = request_of(RDMA_NLDEV_CMD_RES_CTX_GET, index);
    return list<unsigned>(rdma, request, concat("list users of RDMA device number ", index), parse_contexts);
} catch (const NetlinkError& error) {
    // EINVAL is also the word for a device that is gone, which has no users.
    if (error.errno_value() == EINVAL || error.errno_value() == EOPNOTSUPP || error.errno_value() == ENODEV) return {};
    throw;
}

std::optional<std::string> find_uverbs(Socket& rdma, std::uint32_t index) {
    Message request = request_of(RDMA_NLDEV_CMD_GET_CHARDEV, index);
    request.put_text(RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs");
    const Answer answer = rdma.ask(request);
    if (answer.errno_value != 0 || answer.message == nullptr) return std::nullopt;
    std::string name = Attributes(payload_of(*answer.message)).text(RDMA_NLDEV_ATTR_CHARDEV_NAME);
    return name.empty() ? std::nullopt : std::optional(std::move(name));
}

} // namespace rdmanet::kernel
