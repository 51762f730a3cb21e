// The CNI operations. Each throws cni::CniError, json::ValueError or another base::Error; the caller prints.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/cni/result.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/ipam/liveness.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// Creates the attachment or leaves the node as it was. The result contains prevResult's content.
[[nodiscard]] cni::Result add(const cni::Request& request, const config::Config& config, const Node& node);

/// Removes whatever is left of the attachment; success if nothing is. Goes on past each failure and throws one CniError
/// that names all that is still held. The configuration is only a hint: the journal decides, also whether the interface
/// is ours or that of a plugin whose IPAM this one is.
void del(const cni::Request& request, const Node& node);

/// Throws the first thing that differs from what ADD made, with what was found and what was expected.
void check(const cni::Request& request, const config::Config& config, const Node& node);

/// Removes attachments of this network that the runtime doesn't list and whose namespace is provably gone; logs those
/// that it keeps because nothing is proven. For a record that can't be read the configuration tells what it would
/// have said, as for DEL.
void collect_garbage(const cni::Request& request, const Node& node);

/// Throws with CNI code 50 when ADD can't work now.
void status(const cni::Request& request, const config::Config& config, const Node& node);

/// The same binary named in "ipam.type" of another plugin's configuration: addresses only.
namespace ipam_only {
[[nodiscard]] cni::Result add(const cni::Request& request, const Node& node);
void check(const cni::Request& request, const Node& node);
void collect_garbage(const cni::Request& request, const Node& node);
void status(const cni::Request& request, const Node& node);
} // namespace ipam_only

enum class DryRun : std::uint8_t { no, yes };

/// An attachment, or leases without a record, that stays.
struct Kept {
    std::string what;
    ipam::Verdict pod; // with the reason, if nothing is proven
    bool removal_unfinished = false;
};

/// For a person: what `rdmanet gc` removed, or would remove, and what it could not.
struct Collected {
    std::vector<std::string> removed;
    std::vector<std::string> failed;
    std::vector<Kept> kept;           // alive or unknown
    std::vector<std::string> noticed; // what is left alone, and a person should know of
};
/// Removes every attachment and lease, of any network, whose namespace is provably gone. A record that can't be
/// read, and that no lease shows to be a dead pod's, is among `failed`, with what to do about it. Devices that nobody
/// can reach, and VFs that are set up and have no pod, are noticed. A dry run changes nothing.
[[nodiscard]] Collected collect_dead(const Node& node, DryRun dry_run);

} // namespace rdmanet::attach
