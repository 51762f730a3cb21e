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

/// Creates the attachment, or leaves the node as it was. The result includes prevResult.
[[nodiscard]] cni::Result add(const cni::Request& request, const config::Config& config, const Node& node);

/// Removes what is left of the attachment, and succeeds if nothing is. A failure does not stop the rest: one CniError
/// names everything that is still held. The journal decides what is removed, also whether rdmanet made the interface
/// or was only its IPAM plugin. The configuration counts only if the record is lost.
void del(const cni::Request& request, const Node& node);

/// Throws CniError for the first difference from what ADD created, with what was found and what was expected.
void check(const cni::Request& request, const config::Config& config, const Node& node);

/// Removes the attachments of this network that the runtime does not list and whose pods are proven dead. Logs those
/// whose pods are unknown, which it keeps. If a record cannot be read, the configuration replaces it, as for DEL.
void collect_garbage(const cni::Request& request, const Node& node);

/// Throws CniError with code 50 if ADD would fail now.
void status(const cni::Request& request, const config::Config& config, const Node& node);

/// rdmanet as the IPAM plugin ("ipam.type") of another plugin: only addresses.
namespace ipam_only {
[[nodiscard]] cni::Result add(const cni::Request& request, const Node& node);
void check(const cni::Request& request, const Node& node);
void collect_garbage(const cni::Request& request, const Node& node);
void status(const cni::Request& request, const Node& node);
} // namespace ipam_only

enum class DryRun : std::uint8_t { no, yes };

/// An attachment, or leases without a record, that GC keeps.
struct Kept {
    std::string what;
    ipam::Verdict pod; // with the reason if it is unknown
    bool removal_unfinished = false;
};

/// What `rdmanet gc` removed, or would remove, and what it could not remove.
struct Collected {
    std::vector<std::string> removed;
    std::vector<std::string> failed;
    std::vector<Kept> kept;           // alive or unknown
    std::vector<std::string> noticed; // what a person should know, and GC leaves alone
};
/// Removes all attachments and leases, of every network, whose pods are proven dead. An unreadable record goes into
/// `failed` with the fix, unless a lease proves its pod dead. Unreachable devices and VFs with settings but no pod
/// go into `noticed`. A dry run changes nothing.
[[nodiscard]] Collected collect_dead(const Node& node, DryRun dry_run);

} // namespace rdmanet::attach
