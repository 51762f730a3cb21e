// Steps of an attachment as data: enough to undo each of them, whether it was done, half done or never begun.
// Names and numbers in the encoded form are on disk and do not change their meaning.
#pragma once

#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <string>
#include <variant>
#include <vector>

namespace rdmanet::state {

/// A macvlan or ipvlan child made in the pod's network namespace. Undone by removing the link of this name there,
/// if kind, parent and (macvlan) MAC show that it is ours.
struct CreateLink {
    std::string kind;   // "macvlan" or "ipvlan"
    std::string mode;   // with its kind, as messages say it: "macvlan mode bridge"
    std::string ifname; // name in the pod
    std::string parent; // name of the parent, for messages
    unsigned parent_ifindex = 0;
    bool parent_in_pod = false; // linkInContainer: the parent's index counts in the pod's namespace
    std::string mac;            // what the link was created with; empty if the kernel chose (ipvlan, passthru)
    unsigned ifindex = 0;       // in the pod; 0 until the link was seen
};

/// Another IPAM plugin was called with ADD. Undone by calling it with DEL and the same input.
struct DelegateIpam {
    std::string plugin;
    std::string config; // the network configuration as the plugin got it on standard input
    std::string args;   // CNI_ARGS
    std::string path;   // CNI_PATH
};

using Step = std::variant<CreateLink, DelegateIpam>;

void write_step(json::Writer& writer, const Step& step);
/// Throws json::ValueError for anything that write_step() would not have written.
[[nodiscard]] Step parse_step(const json::Reader& reader);

} // namespace rdmanet::state
