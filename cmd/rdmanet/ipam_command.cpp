#include "ipam_command.hpp"

#include "plugin.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>

#include <unistd.h>

namespace rdmanet::cmd {

IpamCommand::IpamCommand(CLI::App& app)
    : ipam_(app.add_subcommand("ipam", "look at the addresses of the node and of the cluster, and repair them")) {
    ipam_->require_subcommand(0, 1);
    options_.state_directory = cmd::state_directory();
    for (const auto add : {add_ipam_show, add_ipam_check, add_ipam_release, add_ipam_reconcile})
        verbs_.push_back(add(*ipam_, options_));
    for (const IpamVerb& verb : verbs_) verb.command->allow_extras();
}

const IpamVerb* IpamCommand::chosen() const {
    for (const IpamVerb& verb : verbs_)
        if (verb.command->parsed()) return &verb;
    return nullptr;
}

void IpamCommand::require_rights(const IpamVerb& verb) const {
    if (verb.is_about_node && ::geteuid() != 0 && is_about_node_only(options_))
        throw base::Error(fmt::format("`rdmanet ipam {}` must be run as root, because it reads the state directory and "
                                      "the node's files; give --kubeconfig to look at the cluster only",
                                      verb.command->get_name()));
}

} // namespace rdmanet::cmd
