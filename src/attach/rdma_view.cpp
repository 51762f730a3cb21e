#include <rdmanet/attach/rdma_view.hpp>

#include "owners/claims.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/netns_sysfs.hpp>
#include <rdmanet/kernel/rdma_files.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::IpAddress;
using base::quoted;
using kernel::GidEntry;
using kernel::RdmaDevice;
using kernel::RdmaPort;
using state::AttachmentRecord;

/// The host's RDMA. Everything is read only once, because many attachments share it.
class HostRdma {
public:
    /// Null if the kernel has no RDMA.
    kernel::Socket* socket() {
        if (!asked_) socket_ = kernel::Socket::find_rdma(base::Deadline::in(kStatusTimeout));
        asked_ = true;
        return socket_ ? &*socket_ : nullptr;
    }

    const std::vector<RdmaDevice>& devices() {
        if (!devices_) devices_ = socket() == nullptr ? std::vector<RdmaDevice>{} : list_rdma_devices(*socket());
        return *devices_;
    }

    const std::vector<GidEntry>& gids(const RdmaPort& port) {
        const auto [place, is_new] = gids_.try_emplace({port.device, port.port});
        if (is_new) place->second = kernel::list_gids(port);
        return place->second;
    }

    /// The files in /dev/infiniband of one port and its device.
    std::vector<std::string> files(const std::string& device, unsigned port) {
        if (!files_) files_ = kernel::list_rdma_files();
        std::vector<std::string> names;
        for (const kernel::RdmaFile& file : *files_) {
            const bool of_port = file.device == device && (file.port == 0 || port == 0 || file.port == port);
            const bool of_all = file.device.empty() && !names.empty();
            if (of_port || of_all) names.push_back(file.name);
        }
        return names;
    }

private:
    bool asked_ = false;
    std::optional<kernel::Socket> socket_;
    std::optional<std::vector<RdmaDevice>> devices_;
    std::map<std::pair<std::string, unsigned>, std::vector<GidEntry>> gids_;
    std::optional<std::vector<kernel::RdmaFile>> files_;
};

std::vector<GidEntry> gids_of(const AttachmentRecord& record, const RdmaView& view,
                              const std::vector<GidEntry>& table) {
    if (view.infiniband || (view.place == RdmaPlace::pod && record.ips.empty())) return table;
    const std::vector<IpAddress> addresses = record.addresses();
    std::vector<GidEntry> found;
    std::copy_if(table.begin(), table.end(), std::back_inserter(found), [&](const GidEntry& entry) {
        const bool same_interface = view.place == RdmaPlace::pod || entry.netdev == record.key.ifname;
        return same_interface && std::find(addresses.begin(), addresses.end(), entry.address) != addresses.end();
    });
    return found;
}

class Viewer {
public:
    std::vector<RdmaView> view(const AttachmentRecord& record) {
        std::vector<RdmaView> views;
        for (const RdmaDevice& moved : moved_devices(record)) append_moved(record, moved, views);
        const state::Child* child = record.child();
        if (views.empty() && !record.rdma_device.empty())
            views.push_back(view_shared(record));
        else if (views.empty() && child != nullptr && child->kind == "ipoib")
            append_ipoib(record, *child, views);
        return views;
    }

private:
    using ReadGids = std::function<std::vector<GidEntry>(const RdmaPort&)>;

    /// A view that holds only what the record says.
    RdmaView recorded(const std::string& device, unsigned port, const std::string& trouble) {
        RdmaView view{.device = device, .port = port, .files = {}, .gids = {}, .trouble = trouble};
        try {
            view.files = host_.files(device, port);
        } catch (const base::Error&) { // `trouble` says enough
        }
        return view;
    }

    RdmaView view_port(const AttachmentRecord& record, const RdmaDevice& device, const RdmaPort& port, RdmaPlace place,
                       const ReadGids& read_gids) {
        RdmaView view{.device = device.name,
                      .port = port.port,
                      .place = place,
                      .infiniband = device.protocol == "ib",
                      .files = {},
                      .gids = {},
                      .trouble = {}};
        try {
            view.files = host_.files(device.name, port.port);
            view.gids = gids_of(record, view, read_gids(port));
        } catch (const base::Error& error) {
            view.trouble = error.what();
        }
        return view;
    }

    ReadGids host_gids() {
        return [this](const RdmaPort& port) { return host_.gids(port); };
    }

    /// Adds the ports of the device if it is in the namespace of `rdma`.
    void append_ports(const AttachmentRecord& record, const RdmaDevice& moved, kernel::Socket* rdma, RdmaPlace place,
                      const ReadGids& read_gids, std::vector<RdmaView>& views) {
        const auto device = rdma == nullptr ? std::nullopt : kernel::find_rdma_device(*rdma, moved.index);
        if (!device || device->node_guid != moved.node_guid) return;
        for (const RdmaPort& port : kernel::list_rdma_ports(*rdma, *device))
            views.push_back(view_port(record, *device, port, place, read_gids));
    }

    /// Looks in the pod, then on the host: DEL or the kernel may just have returned the device.
    void append_moved(const AttachmentRecord& record, const RdmaDevice& moved, std::vector<RdmaView>& views) {
        const std::size_t before = views.size();
        try {
            if (const auto netns = find_netns_again(record.netns.path, record.netns)) {
                auto inside = kernel::Socket::find_rdma_in(*netns, base::Deadline::in(kStatusTimeout));
                const ReadGids read_gids = [&](const RdmaPort& port) {
                    const kernel::NetnsSysfs sysfs(*netns);
                    return kernel::list_gids(port, sysfs.path("class/infiniband"));
                };
                append_ports(record, moved, inside ? &*inside : nullptr, RdmaPlace::pod, read_gids, views);
            }
            if (views.size() == before)
                append_ports(record, moved, host_.socket(), RdmaPlace::host, host_gids(), views);
            if (views.size() == before)
                views.push_back(
                    recorded(moved.name, 0,
                             fmt::format("RDMA device {} is neither in network namespace {} nor on the host",
                                         quoted(moved.name), record.netns.path)));
        } catch (const base::Error& error) {
            views.push_back(recorded(moved.name, 0, error.what()));
        }
    }

    RdmaView view_shared(const AttachmentRecord& record) {
        const auto recorded_port = kernel::parse_rdma_link_name(record.rdma_device);
        const std::string name = recorded_port ? recorded_port->device : record.rdma_device;
        const unsigned number = recorded_port ? recorded_port->port : 0;
        try {
            for (const RdmaDevice& device : host_.devices()) {
                if (device.name != name) continue;
                for (const RdmaPort& port : kernel::list_rdma_ports(*host_.socket(), device))
                    if (port.port == number) return view_port(record, device, port, RdmaPlace::host, host_gids());
            }
            return recorded(name, number, fmt::format("RDMA device {} is not on the host", quoted(record.rdma_device)));
        } catch (const base::Error& error) {
            return recorded(name, number, error.what());
        }
    }

    /// Finds the port of an IPoIB child by the child's GID. In exclusive mode the pod does not see that port.
    void append_ipoib(const AttachmentRecord& record, const state::Child& child, std::vector<RdmaView>& views) {
        const auto gid = kernel::parse_port_gid(child.mac);
        try {
            if (!gid || host_.socket() == nullptr ||
                kernel::rdma_netns_mode(*host_.socket()) != kernel::RdmaNetnsMode::shared)
                return;
            for (const RdmaDevice& device : host_.devices())
                for (const RdmaPort& port : kernel::list_rdma_ports(*host_.socket(), device))
                    for (const GidEntry& entry : host_.gids(port))
                        if (entry.address == *gid) {
                            views.push_back(view_port(record, device, port, RdmaPlace::host, host_gids()));
                            return;
                        }
        } catch (const base::Error& error) {
            views.push_back(recorded("", 0, error.what()));
        }
    }

    HostRdma host_;
};

} // namespace

std::vector<std::vector<RdmaView>> view_rdma(const std::vector<AttachmentRecord>& records) {
    Viewer viewer;
    std::vector<std::vector<RdmaView>> views;
    views.reserve(records.size());
    for (const AttachmentRecord& record : records) views.push_back(viewer.view(record));
    return views;
}

} // namespace rdmanet::attach
