// `rdmanet gc --forget`: a person drops the record and the leases of one attachment.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/attach/operations.hpp>

#include <functional>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// Which attachment is meant: container and interface, or the name of its record's file.
struct ForgetTarget {
    std::string container_id;
    std::string ifname;
    std::string file; // the name of the record's file, or a path to it; if set, it counts alone
};

/// What a person gives up by forgetting.
struct Forgotten {
    std::string what;                    // the attachment, or the file
    std::string reason;                  // why liveness is unknown; empty if the pod is dead
    std::vector<std::string> not_undone; // each step with what a person does about it, or why the steps are not known;
                                         // and addresses that the cluster's store did not take back
    std::vector<std::string> released;   // addresses
    std::string record;                  // JSON; empty if there is none or it cannot be read
};

/// Drops the record and releases the leases of one attachment whose pod is dead or unknown. If the pod is dead, it
/// first undoes everything that can be undone, as collect_dead() does. If the pod is unknown, it undoes nothing,
/// because the pod may live. Addresses in a store of the cluster are given back, if it can be asked. `say` is called
/// before anything is dropped; if it throws, the record stays. A dry run
/// ends there. Throws if there is no such attachment, if `target` fits several, or if the pod lives.
void forget(const ForgetTarget& target, const Node& node, DryRun dry_run,
            const std::function<void(const Forgotten&)>& say);

} // namespace rdmanet::attach
