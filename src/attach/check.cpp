// CHECK: everything that ADD created still exists and has not changed.
#include "compare.hpp"

#include "lookup/pod_side.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/cni/delegate.hpp>
#include <rdmanet/cni/error.hpp>

namespace rdmanet::attach {

void check(const cni::Request& request, const config::Config& config, const Node& node) {
    Call call(node, base::Deadline::in(kCheckTimeout), request);
    call.config = &config;
    if (!config.is_rdma_only() && !request.conf.prev_result)
        throw cni::CniError(cni::ErrorCode::invalid_network_config,
                            fmt::format("prevResult is missing: {}", kPassResult));
    const auto outcome = call.records.load(call.key);
    const auto* record = std::get_if<state::AttachmentRecord>(&outcome);
    if (record == nullptr)
        differs(fmt::format("the journal in {} has no readable record of the attachment ({})", node.state_directory,
                            call.key),
                kDeletePod);
    if (record->phase != state::Phase::attached)
        differs(fmt::format("an ADD or DEL of the attachment ({}) failed or was killed", call.key),
                "delete the pod, whose DEL undoes what is left");

    compare_with_kernel(call, wanted_by(request, config), *record, open_pod_netns(request), request.netns_path);
    if (const auto* other = std::get_if<config::DelegatedIpam>(&config.ipam))
        cni::delegate_check(cni::delegate_call(request, other->plugin), call.deadline);
    if (std::holds_alternative<ipam::Config>(config.ipam)) compare_leases(call, *record);
}

} // namespace rdmanet::attach
