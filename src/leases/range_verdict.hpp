// What STATUS found out about the ranges of a network a moment ago: runtimes ask every half second, on every node, and
// the cluster's servers answer for all of them.
#pragma once

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/leases/node.hpp>

#include <optional>
#include <string>

namespace rdmanet::leases {

struct RangeVerdict {
    enum class Kind : char {
        room = 'r',
        full = 'f',
        unknown = 'u', // the server did not answer, or was busy
        refused = 'p', // until somebody changes something
    };
    Kind kind = Kind::room;
    std::string text{}; // why
};

/// The verdict on all ranges of a network in a cluster, for half a minute.
class RangeVerdictMemory {
public:
    RangeVerdictMemory(const ipam::Config& config, const Node& node);

    [[nodiscard]] std::optional<RangeVerdict> find() const;
    void note(const RangeVerdict& verdict) const;

private:
    std::string state_directory_;
    base::BootMemory memory_;
    std::string head_; // the kubeconfig, as it is now
};

} // namespace rdmanet::leases
