// Whether the API server serves those who ask it at each ADD. It comes behind the checks whose requests it judges.
#include "api_server.hpp"
#include "checks.hpp"
#include "tokens.hpp"

namespace rdmanet::doctor {
namespace {

void check_api_access(const Context& context, Findings& found) {
    for (const ApiServer::Failure& each : context.api_server.failures_of_node()) {
        const std::string_view then = each.owner == "Multus" ? ", so pods stay in ContainerCreating" : "";
        if (!each.is_unauthorized)
            found.warning("", fmt::format("the API server of {} gives no answer{}: {}", each.file, then, each.what),
                          "check that the server runs, and this node's route, name server and certificates for it");
        else if (!found.has_warned("tokens"))
            found.failure("", fmt::format("the API server refuses the token in {}{}", each.file, then),
                          cure_of_token(each.owner));
    }
}

constexpr Check kApiAccessChecks[] = {
    {{"api-access", Layer::cluster, "whether the API server answers Multus and rdmanet"}, check_api_access},
};

} // namespace

std::span<const Check> api_access_checks() {
    return kApiAccessChecks;
}

} // namespace rdmanet::doctor
