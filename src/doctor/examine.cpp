#include <rdmanet/doctor/doctor.hpp>

#include "api_server.hpp"
#include "checks.hpp"
#include "kubelet.hpp"

#include <rdmanet/base/error.hpp>

namespace rdmanet::doctor {
namespace {

using inventory::Inventory;

std::vector<std::span<const Check>> all_layers() {
    return {hardware_checks(),      gpu_checks(),         kernel_checks(),
            kernel_log_checks(),    function_checks(),    rdma_checks(),
            place_checks(),         device_user_checks(), vf_checks(),
            nic_checks(),           network_checks(),     host_network_checks(),
            plugin_checks(),        runtime_checks(),     denial_checks(),
            device_plugin_checks(), cluster_checks(),     network_definition_checks(),
            node_object_checks(),   pod_checks()};
}

CheckResult run(const Check& check, const Context& context, Findings& found) {
    CheckResult result{.check = check.info};
    found.begin(check.info.id);
    try {
        check.run(context, found);
        if (found.count_of(check.info.id) != 0) result.outcome = Outcome::found;
    } catch (const base::Error& error) {
        result.outcome = Outcome::not_looked_at;
        result.why = error.what();
    }
    return result;
}

} // namespace

std::string subject_of(const inventory::Device& device) {
    if (!device.address) return device.rdma.empty() ? std::string() : device.rdma.front().name;
    if (device.net.empty()) return device.address->to_string();
    return fmt::format("{} ({})", *device.address, device.net.front().name);
}

std::string_view to_string(Layer layer) {
    switch (layer) {
    case Layer::hardware: return "hardware";
    case Layer::kernel: return "kernel";
    case Layer::rdma: return "rdma";
    case Layer::network: return "network";
    case Layer::runtime: return "runtime";
    case Layer::cluster: return "cluster";
    case Layer::pod: break;
    }
    return "pod";
}

std::string_view to_string(Severity severity) {
    switch (severity) {
    case Severity::info: return "info";
    case Severity::warning: return "warning";
    case Severity::failure: break;
    }
    return "failure";
}

std::vector<CheckInfo> list_checks() {
    std::vector<CheckInfo> all;
    for (const auto& layer : all_layers())
        for (const Check& check : layer) all.push_back(check.info);
    return all;
}

Severity Report::worst() const {
    Severity worst = Severity::info;
    for (const Finding& finding : findings) worst = std::max(worst, finding.severity);
    return worst;
}

Report examine(const Inventory& inventory, const attach::Node& node, const Options& options) {
    Kubelet kubelet(options.root);
    ApiServer api_server(options.root, options.kubeconfig);
    const Context context{.inventory = inventory,
                          .node = node,
                          .root = options.root,
                          .pod = options.pod.empty() ? std::nullopt
                                                     : std::optional(inventory::find_pod(inventory, options.pod)),
                          .kubelet = kubelet,
                          .api_server = api_server};
    Report report{.checks = {}, .findings = {}, .unseen = inventory.unseen};
    Findings found;
    for (const auto& layer : all_layers())
        for (const Check& check : layer)
            if (check.info.layer == Layer::pod ? context.pod.has_value() : !options.pod_only)
                report.checks.push_back(run(check, context, found));
    report.findings = found.all();
    return report;
}

} // namespace rdmanet::doctor
