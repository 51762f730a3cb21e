#include <rdmanet/doctor/doctor.hpp>

#include "api_server.hpp"
#include "checks.hpp"
#include "host_links.hpp"
#include "kernel_messages.hpp"
#include "kubelet.hpp"
#include "port_watch.hpp"

#include <rdmanet/base/error.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace rdmanet::doctor {
namespace {

std::vector<std::span<const Check>> all_layers() {
    return {hardware_checks(),
            gpu_checks(),
            kernel_checks(),
            module_file_checks(),
            kernel_log_checks(),
            function_checks(),
            rdma_system_checks(),
            rdma_checks(),
            place_checks(),
            device_user_checks(),
            vf_checks(),
            vf_count_checks(),
            protocol_checks(),
            nic_checks(),
            traffic_class_checks(),
            network_checks(),
            host_network_checks(),
            port_checks(),
            plugin_checks(),
            locked_memory_checks(),
            runtime_checks(),
            subnet_checks(),
            denial_checks(),
            kubelet_device_checks(),
            device_plugin_checks(),
            cluster_checks(),
            network_definition_checks(),
            node_object_checks(),
            api_access_checks(),
            pod_presence_checks(),
            pod_checks(),
            pod_ipoib_checks(),
            pod_network_checks(),
            pod_program_checks(),
            pod_provider_checks()};
}

/// "ok" of a check that had nothing to look at would say too much. Why nothing is there is for the layers below, and
/// for the check of all devices.
void require_something(const CheckInfo& check, const inventory::Inventory& inventory) {
    if (check.layer != Layer::rdma || check.id == "rdma-devices") return;
    if (std::ranges::all_of(inventory.devices, [](const inventory::Device& device) { return device.rdma.empty(); }))
        throw base::Error("the node has no RDMA device");
}

CheckResult run(const Check& check, const Context& context, Findings& found) {
    CheckResult result{.check = check.info};
    found.begin(check.info.id);
    try {
        require_something(check.info, context.inventory);
        check.run(context, found);
        if (found.count_of(check.info.id) != 0) result.outcome = Outcome::found;
    } catch (const base::Error& error) {
        result.outcome = Outcome::not_looked_at;
        result.why = error.what();
    }
    return result;
}

/// All checks of a pod but that of its presence look into its network namespace.
bool is_asked_for(const Check& check, const Context& context, const Options& options) {
    if (check.info.layer != Layer::pod) return !options.pod_only;
    return context.pod || (!context.missing_pod.empty() && check.info.id == pod_presence_checks().front().info.id);
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

const Finding* Report::first_to_wait_for() const {
    constexpr std::string_view kOfBoot[] = {"driver", "core-modules", "parent-up"};
    const auto first = std::ranges::find_if(findings, [&](const Finding& each) {
        return each.severity == Severity::failure ||
               std::find(std::begin(kOfBoot), std::end(kOfBoot), each.check) != std::end(kOfBoot);
    });
    return first == findings.end() ? nullptr : &*first;
}

Severity Report::worst() const {
    Severity worst = Severity::info;
    for (const Finding& finding : findings) worst = std::max(worst, finding.severity);
    return worst;
}

Report examine(const inventory::Inventory& inventory, const attach::Node& node, const Options& options) {
    PortWatch port_watch(inventory);
    if (!options.pod_only) port_watch.begin();
    KernelLog kernel_log(options.root);
    Kubelet kubelet(options.root);
    ApiServer api_server(options.root, options.kubeconfig);
    api_server.require_named();
    HostLinks host_links(inventory);
    const auto pod = options.pod.empty() ? std::nullopt : inventory::find_pod(inventory, options.pod);
    const Context context{.inventory = inventory,
                          .node = node,
                          .root = options.root,
                          .pod = pod,
                          .missing_pod = pod ? std::string() : options.pod,
                          .kernel_log = kernel_log,
                          .kubelet = kubelet,
                          .api_server = api_server,
                          .host_links = host_links,
                          .port_watch = port_watch};
    Report report{.unseen = inventory.unseen};
    Findings found;
    for (const auto& layer : all_layers())
        for (const Check& check : layer)
            if (is_asked_for(check, context, options)) report.checks.push_back(run(check, context, found));
    report.findings = found.all();
    return report;
}

} // namespace rdmanet::doctor
