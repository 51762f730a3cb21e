// Turns at a pool. Many writes of one object at once cost the API server far more than the same writes one after the
// other: it makes all of them at the same time, and each one that ends makes it begin the others anew. So processes
// take turns: those of a node by a lock file, and nodes by a Lease object. Nodes do so at their first call of a boot,
// and whenever they notice that they are many. A turn protects nothing, because every write names what it expects. A
// node without the right to one goes on without. The Lease objects have a namespace of their own, because who may
// delete those of kube-system can depose the controllers of the cluster.
#pragma once

#include "../requests.hpp"

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/kube/api.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace rdmanet::cluster {

/// Ends with this object.
class Turn {
public:
    /// Not only among the processes of this node.
    [[nodiscard]] bool is_among_nodes() const { return of_nodes_ != nullptr; }

private:
    friend class Turns;
    /// A Lease object.
    class OfNodes {
    public:
        OfNodes(kube::Api& api, std::string path, std::string uid)
            : api_(api), path_(std::move(path)), uid_(std::move(uid)) {}
        OfNodes(const OfNodes&) = delete;
        OfNodes& operator=(const OfNodes&) = delete;
        ~OfNodes();

    private:
        kube::Api& api_;
        std::string path_;
        std::string uid_;
    };

    base::FileLock of_node_;
    std::unique_ptr<OfNodes> of_nodes_;
};

class Turns {
public:
    /// Of CLOCK_BOOTTIME, in seconds.
    using Clock = std::function<std::int64_t()>;
    struct Options {
        std::string name_space; // of the pools
        std::string holder;     // what the Lease objects say
        std::string state_directory;
        std::string boot_id;
        Clock clock;
    };
    Turns(kube::Api& api, Options options)
        : api_(api), requests_(api, "create namespace rdmanet-turns"), options_(std::move(options)) {}

    /// Waits for the node's other processes. If this node has noticed a crowd a moment ago, or has not used the pool in
    /// this boot, it also waits for other nodes. The caller must have no other turn. Throws base::TimeoutError if it
    /// has waited in vain, and ipam::StoreError if the server does not answer.
    [[nodiscard]] Turn wait(const std::string& pool, const base::Deadline& deadline);

    /// Another node has written the pool at the same time, or reading it took so long that many must be at it.
    void note_crowd(const std::string& pool) const;
    void note_read(const std::string& pool, base::Deadline::Clock::duration took) const;
    [[nodiscard]] bool is_crowded(const std::string& pool) const;

private:
    [[nodiscard]] std::string name_of_turn(const std::string& pool) const;
    [[nodiscard]] base::BootMemory memory_of(const std::string& pool) const;
    [[nodiscard]] bool is_noted(const std::string& pool, std::chrono::seconds within) const;
    [[nodiscard]] base::FileLock lock_node(const std::string& pool, const base::Deadline& deadline) const;
    [[nodiscard]] bool take_lease(Turn& turn, const std::string& pool, const base::Deadline& deadline);
    void wait_for_lease(Turn& turn, const std::string& pool, const base::Deadline& patience,
                        const base::Deadline& deadline);
    void wait_for_end(const std::string& pool, base::Deadline::Clock::time_point begun, const base::Deadline& patience,
                      const base::Deadline& deadline);

    kube::Api& api_;
    Requests requests_;
    Options options_;
};

} // namespace rdmanet::cluster
