// `rdmanet gc --forget`: a person drops what the node has written down about one attachment.
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
    std::string file; // a path's last part counts; empty: see above
};

/// What a person gives up by forgetting.
struct Forgotten {
    std::string what;                    // the attachment, or the file
    std::string reason;                  // why liveness could not be decided; empty: the pod is gone
    std::vector<std::string> not_undone; // steps with what the record says of them, or why nobody can tell
    std::vector<std::string> released;   // addresses
    std::string record;                  // JSON; empty if it can't be read, or there is none
};

/// Drops the record and releases the leases of one attachment whose pod is dead or unknown. Of a dead pod all that can
/// be is undone first, as collect_dead() does; of an unknown one nothing is, as it may live. `say` is called before
/// anything is dropped, and a dry run ends there: if it throws, the record stays. Throws if the attachment isn't there,
/// if several are meant, and if its pod lives.
void forget(const ForgetTarget& target, const Node& node, DryRun dry_run,
            const std::function<void(const Forgotten&)>& say);

} // namespace rdmanet::attach
