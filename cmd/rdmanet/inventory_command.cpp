#include "commands.hpp"
#include "output.hpp"

#include <rdmanet/attach/node.hpp>
#include <rdmanet/inventory/inventory.hpp>
#include <rdmanet/ops/inventory_report.hpp>

namespace rdmanet::cmd {

CLI::App* add_inventory_command(CLI::App& app, InventoryOptions& options) {
    CLI::App* command = app.add_subcommand(
        "inventory", "show network functions, their net and RDMA devices, and which pod has them; changes nothing");
    add_format_options(*command, options.format, {"table", "wide", "json", "svg"},
                       "table, wide (a table with more columns), json, or svg (a picture: rdmanet inventory -o svg "
                       ">node.svg)");
    command->add_option("--root", options.root, "where the host's / is mounted, in a container");
    command->add_option("--state-dir", options.state_directory, "directory of rdmanet's records, on the host")
        ->capture_default_str();
    command->footer("Example: rdmanet inventory -o wide");
    return command;
}

int print_inventory(const InventoryOptions& options) {
    const attach::Node node(options.state_directory, base::Logger(base::LogLevel::warning));
    const inventory::Inventory found =
        inventory::read_inventory({.root = options.root, .state_directory = node.state_directory});
    if (options.format == "json")
        print(ops::to_json(found));
    else if (options.format == "svg")
        print(ops::to_svg(found));
    else
        print(ops::to_table(found, options.format == "wide" ? ops::Columns::wide : ops::Columns::usual));
    return 0;
}

} // namespace rdmanet::cmd
