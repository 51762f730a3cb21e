#include "commands.hpp"
#include "output.hpp"

namespace rdmanet::cmd {

CLI::App* add_plan_command(CLI::App& app, PlanOptions& options) {
    CLI::App* plan = app.add_subcommand(
        "plan", "show what ADD would do with a network on this node, or why it would fail; changes nothing");
    plan->add_option("FILE", options.file,
                     "JSON or YAML file, - for standard input: a network configuration, a list (its first rdmanet "
                     "entry counts), or manifests with NetworkAttachmentDefinitions")
        ->capture_default_str();
    plan->add_option("--name", options.network,
                     "name of the NetworkAttachmentDefinition to use, or of the network if the configuration has none");
    plan->add_option("--device", options.device, "device that the device plugin would choose, like 0000:3b:00.2");
    plan->add_option("--ifname", options.ifname, "name of the interface in the pod")->capture_default_str();
    plan->add_option("--netns", options.netns, "network namespace of a pod; without it, a temporary one");
    plan->add_option("--args", options.args, "CNI_ARGS, like IP=10.0.0.7");
    plan->add_option("--prev-result", options.prev_result,
                     "file with the result of the plugins before rdmanet in the list, - for standard input");
    plan->add_option("--cni-path", options.cni_path, "directories of other IPAM plugins")->capture_default_str();
    add_common_options(*plan, options.state_directory, options.json);
    plan->footer("Example: rdmanet plan nad.yaml --device 0000:3b:00.2");
    return plan;
}

} // namespace rdmanet::cmd
