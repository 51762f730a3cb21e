#include "ipam_command.hpp"

#include "plugin.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>

#include <unistd.h>

namespace rdmanet::cmd {

IpamCommand::IpamCommand(CLI::App& app)
    : ipam_(app.add_subcommand("ipam", "look at addresses in all lease stores, and repair them")) {
    ipam_->require_subcommand(0, 1);
    options_.state_directory = cmd::state_directory();
    for (const auto add : {add_ipam_show, add_ipam_check, add_ipam_release, add_ipam_rename_node})
        verbs_.push_back(add(*ipam_, options_));

    CLI::App* reconcile_command =
        ipam_->add_subcommand("reconcile", "free what pods and nodes that are gone have left in the cluster");
    add_reconcile_options(*reconcile_command, options_, reconcile_options_);
    verbs_.push_back({.command = reconcile_command,
                      .run = [this] { return reconcile(options_, reconcile_options_); },
                      .is_about_node = false});

    for (const IpamVerb& verb : verbs_) verb.command->allow_extras();
}

const IpamVerb* IpamCommand::chosen() const {
    for (const IpamVerb& verb : verbs_)
        if (verb.command->parsed()) return &verb;
    return nullptr;
}

void IpamCommand::require_rights(const IpamVerb& verb) const {
    if (verb.is_about_node && ::geteuid() != 0 && options_.kubeconfig.empty())
        throw base::Error(fmt::format("`rdmanet ipam {}` must be run as root, because it reads the state directory and "
                                      "the node's files; give --kubeconfig to look at the cluster only",
                                      verb.command->get_name()));
}

} // namespace rdmanet::cmd
