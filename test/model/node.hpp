// A node with its pods. Its calls are the product's own; each runs in a process.
#pragma once

#include "model/fake_api.hpp"
#include "model/fake_node.hpp"

#include <rdmanet/cluster/blocks_store.hpp>
#include <rdmanet/cluster/pools_store.hpp>
#include <rdmanet/cluster/ranges.hpp>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::model {

/// The ranges of two networks, which overlap.
inline constexpr std::array<const char*, 2> kNetworks{"10.0.0.0/30", "10.0.0.0/31"};

struct Pod {
    std::string container;
    std::size_t network = 0;
    cluster::Keeper keeper = cluster::Keeper::pools;
    std::optional<base::IpAddress> address{}; // none if its ADD has failed, or was killed
    bool is_forfeit = false; // the administrator has deleted the Node of its living machine for too long
};

[[nodiscard]] kube::Api& api();

class Node {
public:
    explicit Node(std::string name);

    [[nodiscard]] Pod make_pod(std::size_t network);

    // Calls of the product. Each throws base::Error.

    /// `granted` is told of the new pod.
    void add(Pod pod, Asker& asker, const std::function<void(Pod&)>& granted);
    void remove(const Pod& pod, Asker& asker);
    void confirm(Asker& asker);

    void reboot();
    /// The files of the state directory are gone, and the pods run on.
    void lose_files();
    /// Keeps a copy of the file of blocks, or puts the one that it kept back.
    void put_file_back();

    std::string name;
    std::string boot;
    std::vector<Pod> pods;    // that live
    std::vector<Pod> pending; // whose DEL has not ended

private:
    void reserve(Pod& pod, Asker& asker);
    [[nodiscard]] ipam::Owner owner_of(const std::string& container) const;
    [[nodiscard]] std::shared_ptr<ipam::BlockFile> file() const;
    [[nodiscard]] cluster::BlocksStore blocks(std::optional<cluster::DeclaredRanges> recalled = {});
    [[nodiscard]] cluster::WhereaboutsStore pools(std::size_t network);
    [[nodiscard]] std::string why_in_use(const base::IpPrefix& addresses,
                                         const std::vector<base::IpAddress>& known) const;

    int boots_ = 0;
    std::optional<File> copy_{};
    int containers_ = 0;
};

} // namespace rdmanet::model
