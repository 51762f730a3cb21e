#include "model/node.hpp"

#include "model/fake_node.hpp"
#include "model/fibers.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ipam/store/block_file.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::model {
namespace {

using cluster::BlocksStore;
using cluster::Keeper;
using cluster::WhereaboutsStore;

constexpr const char* kKubeconfig = "/kubeconfig";

const base::Deadline kLater = base::Deadline::in(std::chrono::hours(24));

cluster::Place place_of(std::size_t network) {
    return {.space = "", .subnet = *base::IpPrefix::parse(kNetworks.at(network))};
}

ipam::Claim claim_of(std::size_t network) {
    const base::IpPrefix subnet = place_of(network).subnet;
    return {.space = "",
            .family = subnet.family(),
            .prefix_length = subnet.length(),
            .usable = {{subnet.network().value(), subnet.last().value()}},
            .cooldown = std::chrono::seconds(0)};
}

} // namespace

kube::Api& api() {
    static kube::Api only(kube::Access{.server = base::Url::parse("http://127.0.0.1:1")}, http::Limits{});
    return only;
}

Node::Node(std::string its_name) : name(std::move(its_name)), boot(fmt::format("boot-{}-0", name)) {}

ipam::Owner Node::owner_of(const std::string& container) const {
    return {.key = {.network = "net", .container_id = container, .ifname = "net1"},
            .pod_namespace = "default",
            .pod_name = container,
            .pod_uid = container,
            .netns_path = "/run/netns/" + container,
            .boot_id = boot};
}

std::shared_ptr<ipam::BlockFile> Node::file() const {
    return std::make_shared<ipam::BlockFile>(
        ipam::BlockFile::Options{.state_directory = "/" + name, .boot_id = boot, .known_leases = {}});
}

BlocksStore Node::blocks(std::optional<cluster::DeclaredRanges> recalled) {
    BlocksStore::Options options;
    options.recalled = std::move(recalled);
    options.api = api;
    options.kubeconfig = kKubeconfig;
    options.node_name = name;
    options.machine_id = "machine-" + name;
    options.boot_id = boot;
    options.state_directory = "/" + name;
    options.find_use = [this](const base::IpPrefix& addresses, const std::vector<base::IpAddress>& known) {
        return why_in_use(addresses, known);
    };
    return {file(), std::move(options)};
}

WhereaboutsStore Node::pools(std::size_t network) {
    return {api(),
            {.name_space = "kube-system",
             .places = {place_of(network)},
             .node = {.name = name, .uid = {}, .machine_id = "machine-" + name, .boot_id = boot},
             .state_directory = "/" + name,
             .cluster = kKubeconfig}};
}

std::string Node::why_in_use(const base::IpPrefix& addresses, const std::vector<base::IpAddress>& known) const {
    if (files.without == Rule::unknown) return {};
    for (const Pod& pod : pods)
        if (addresses.contains(*pod.address) && std::find(known.begin(), known.end(), *pod.address) == known.end())
            return pod.container + " has it";
    return {};
}

Pod Node::make_pod(std::size_t network) {
    return {.container = fmt::format("{}-{}", name, ++containers_), .network = network};
}

void Node::add(Pod pod, Asker& asker, const std::function<void(Pod&)>& granted) {
    try {
        reserve(pod, asker);
        if (Process::current().is_dead()) throw Killed();
    } catch (const base::Error&) {
        pod.address.reset();
        pending.push_back(pod); // it may have left something
        throw;
    }
    if (!pod.address) return pending.push_back(pod);
    pods.push_back(pod);
    granted(pods.back());
}

void Node::reserve(Pod& pod, Asker& asker) {
    constexpr int kMostMoves = 3;
    for (int moves = 0;; ++moves) {
        try {
            asker = {};
            std::optional<cluster::DeclaredRanges> recalled;
            pod.keeper = cluster::find_keeper({place_of(pod.network)}, file()->ranges(),
                                              {"/" + name, boot, kKubeconfig}, api, kLater, &recalled);
            asker.uses_pools = pod.keeper == Keeper::pools;
            const ipam::Owner owner = owner_of(pod.container);
            const auto outcome = asker.uses_pools ? pools(pod.network).reserve(owner, {claim_of(pod.network)}, kLater)
                                                  : blocks(recalled).reserve(owner, {claim_of(pod.network)}, kLater);
            if (const auto* has = std::get_if<ipam::Granted>(&outcome))
                pod.address = has->leases.at(0).address.address();
            return;
        } catch (const cluster::RangeMoved&) {
            if (moves == kMostMoves) throw;
        }
    }
}

/// The kubelet repeats a DEL until it has succeeded.
void Node::remove(const Pod& pod, Asker& asker) {
    const ipam::OwnerKey key = owner_of(pod.container).key;
    asker = {.uses_pools = pod.keeper == Keeper::pools};
    if (asker.uses_pools) {
        (void)pools(pod.network).release(key, kLater);
    } else {
        (void)blocks().release(key, kLater);
        blocks().settle(std::chrono::seconds(0), kLater);
    }
    if (!Process::current().is_dead())
        std::erase_if(pending, [&](const Pod& one) { return one.container == pod.container; });
}

void Node::confirm(Asker& asker) {
    asker = {};
    if (boots_ != 0) (void)pools(0).give_back_earlier_boot(kLater);
    blocks().confirm(kLater);
}

void Node::reboot() {
    boot = fmt::format("boot-{}-{}", name, ++boots_);
    pods.clear();
    pending.clear();
    copy_.reset();
    lose_files();
}

void Node::lose_files() {
    const std::string prefix = "/" + name + "/";
    std::erase_if(files.by_path, [&](const auto& file) { return file.first.starts_with(prefix); });
}

void Node::put_file_back() {
    const auto file = files.by_path.find(fmt::format("/{}/blocks", name));
    if (file == files.by_path.end()) return;
    if (!copy_) {
        copy_ = file->second;
        return;
    }
    if (files.without != Rule::file_identity) copy_->inode = files.next_inode++;
    file->second = *std::exchange(copy_, std::nullopt);
}

} // namespace rdmanet::model
