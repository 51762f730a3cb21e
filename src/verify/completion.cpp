#include "completion.hpp"

#include <rdmanet/base/format.hpp>

namespace rdmanet::verify {

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

} // namespace rdmanet::verify
