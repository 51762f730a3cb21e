// Whether the API server serves those who ask it at each ADD. It comes behind the checks whose requests it judges.
#include "api_server.hpp"
#include "checks.hpp"
#include "tokens.hpp"

namespace rdmanet::doctor {
namespace {

using Trouble = ApiServer::Trouble;

void report(const ApiServer::Failure& each, std::string_view then, Findings& found) {
    switch (each.trouble) {
    case Trouble::silent:
        found.warning("", fmt::format("the API server of {} gives no answer{}: {}", each.file, then, each.what),
                      "check that the server runs, and this node's route, name server and certificates for it");
        break;
    case Trouble::failing:
        found.warning("", fmt::format("the API server of {} fails{}: {}", each.file, then, each.what),
                      "look at the log of the API server, or of the load balancer before it");
        break;
    case Trouble::no_cluster:
        found.warning("", fmt::format("the server of {} is no API server{}: {}", each.file, then, each.what),
                      "correct \"server\" in that file: `kubectl config view --raw` of an administrator shows it");
        break;
    case Trouble::unauthorized:
        if (!found.has_warned("tokens"))
            found.failure("", fmt::format("the API server refuses the token in {}{}", each.file, then),
                          fix_of_token(each.owner));
        break;
    }
}

void check_api_access(const Context& context, Findings& found) {
    for (const ApiServer::Failure& each : context.api_server.failures_of_node())
        report(each, each.owner == "Multus" ? ", so pods stay in ContainerCreating" : "", found);
}

constexpr Check kApiAccessChecks[] = {
    {{"api-access", Layer::cluster, "whether the API server answers Multus and rdmanet"}, check_api_access},
};

} // namespace

std::span<const Check> api_access_checks() {
    return kApiAccessChecks;
}

} // namespace rdmanet::doctor
