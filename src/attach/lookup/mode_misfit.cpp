#include <rdmanet/attach/misfit.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

namespace rdmanet::attach {
namespace {

using base::quoted;
using kernel::RdmaNetnsMode;

Misfit needs_shared(const std::string& network) {
    return {.what = fmt::format("rdma netns mode is exclusive, network {} needs shared", quoted(network)),
            .fix = "run `rdma system set netns shared` before any pod starts"};
}

} // namespace

std::optional<Misfit> find_device_misfit(const config::RdmaPolicy& policy, const kernel::RdmaSystem& system,
                                         const std::string& network) {
    if (policy.demand == config::RdmaDemand::ignored) return std::nullopt;
    const bool exclusive = system.mode() == RdmaNetnsMode::exclusive;
    if (policy.isolation == true && !system.netns_mode)
        return Misfit{.what = fmt::format("the kernel of this node cannot move RDMA devices between network "
                                          "namespaces, network {} needs that",
                                          quoted(network)),
                      .fix = "boot Linux 5.3 or later, or share the RDMA device with \"attach\": \"macvlan\" or "
                             "\"ipvlan\""};
    if (policy.isolation.value_or(exclusive) && !exclusive)
        return Misfit{.what = fmt::format("rdma netns mode is shared, network {} needs exclusive", quoted(network)),
                      .fix = "run `rdma system set netns exclusive` before any pod starts, and write \"options "
                             "ib_core netns_mode=0\" to /etc/modprobe.d/ib_core.conf to keep it after a reboot"};
    if (exclusive && policy.demand == config::RdmaDemand::required && policy.isolation == false)
        return needs_shared(network);
    return std::nullopt;
}

std::optional<Misfit> find_child_misfit(const config::RdmaPolicy& policy, RdmaNetnsMode mode,
                                        const std::string& network) {
    if (policy.demand == config::RdmaDemand::ignored || mode == RdmaNetnsMode::shared) return std::nullopt;
    Misfit misfit = needs_shared(network);
    misfit.is_refused = policy.demand == config::RdmaDemand::required;
    return misfit;
}

} // namespace rdmanet::attach
