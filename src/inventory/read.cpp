#include <rdmanet/inventory/inventory.hpp>

#include "namespaces.hpp"
#include "nic_settings.hpp"
#include "side.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <sys/utsname.h>

#include <utility>

namespace rdmanet::inventory {
namespace {

/// The host's namespace, or the caller's if the host's may not be seen.
kernel::Netns find_host(const std::string& proc, std::vector<std::string>& unseen) {
    std::string why = "not found";
    try {
        if (auto host = kernel::find_netns(fmt::format("{}/1/ns/net", proc))) return *std::move(host);
    } catch (const base::Error& error) {
        why = error.what();
    }
    unseen.push_back(fmt::format("the host's network namespace ({}): run it as root on the node. What is shown instead "
                                 "is the namespace of this process",
                                 why));
    return kernel::Netns::current();
}

std::vector<state::AttachmentRecord> list_records(const Options& options, std::vector<std::string>& unseen) try {
    const std::string directory = fmt::format("{}{}", options.root, options.state_directory);
    auto listing = state::AttachmentStore(directory).list();
    for (const state::Unreadable& file : listing.unreadable)
        unseen.push_back(fmt::format("record {}: {}", file.path, file.reason));
    return std::move(listing.records);
} catch (const base::Error& error) {
    unseen.push_back(fmt::format("rdmanet's records ({}): run it as root on the node", error.what()));
    return {};
}

Side read_host(SideReader& reader, std::vector<std::string>& unseen) try {
    return reader.read_host();
} catch (const base::Error& error) {
    unseen.push_back(fmt::format("the host's net and RDMA devices ({}): run it as root on the node", error.what()));
    return {};
}

/// Empty, and with the reason in `place`, if the namespace cannot be looked into.
Side read_pod(SideReader& reader, Namespace& place, std::size_t number) try {
    const auto netns = kernel::find_netns(place.path);
    return netns ? reader.read_pod(*netns, number) : Side{};
} catch (const base::Error& error) {
    place.trouble = error.what();
    return {};
}

void ask_drivers(const SideReader& reader, Inventory& all) try {
    read_nic_settings(reader, all.devices);
} catch (const base::Error& error) {
    all.unseen.push_back(fmt::format("settings of NICs ({}): run it as root on the node", error.what()));
}

void report_unseen(const std::vector<Namespace>& namespaces, std::vector<std::string>& unseen) {
    std::size_t count = 0;
    std::string example;
    for (const Namespace& each : namespaces)
        if (!each.trouble.empty() && count++ == 0) example = fmt::format("{}: {}", each, each.trouble);
    if (count != 0)
        unseen.push_back(fmt::format("what is in {} ({}): run it as root on the node",
                                     base::counted(count, "network namespace", "network namespaces"), example));
}

} // namespace

Inventory read_inventory(const Options& options) {
    Inventory all;
    utsname system{};
    (void)::uname(&system);
    all.host = system.nodename;
    all.kernel = system.release;
    const Roots roots{.sysfs = fmt::format("{}/sys", options.root), .proc = fmt::format("{}/proc", options.root)};

    const auto records = list_records(options, all.unseen);
    all.namespaces = list_namespaces(roots.proc, records, all.unseen);
    SideReader reader(roots, find_host(roots.proc, all.unseen));
    std::vector<Side> sides{read_host(reader, all.unseen)};
    all.rdma_system = reader.rdma_system();
    for (std::size_t number = 1; number < all.namespaces.size(); ++number)
        sides.push_back(read_pod(reader, all.namespaces[number], number));
    report_unseen(all.namespaces, all.unseen);

    all.interfaces = list_interfaces(sides, all.namespaces, records);
    all.devices = list_devices(roots.sysfs, sides, all.others);
    if (options.nic_settings == NicSettings::read) ask_drivers(reader, all);
    return all;
}

} // namespace rdmanet::inventory
