// What somebody holds, as it was read, and giving it back.
#pragma once

#include "../blocks/blocks_api.hpp"
#include "../whereabouts_api.hpp"
#include "cluster_view.hpp"

#include <rdmanet/cluster/reconcile.hpp>
#include <rdmanet/cluster/survey.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rdmanet::cluster {

/// An entry of a pool.
struct HeldRecord {
    std::string pool;
    SeenRecord record;
    std::optional<SeenReservation> reservation; // of the same address, pod and interface
};

struct Held {
    Left left;
    Holder holder;        // the node's alone, for a block
    std::string identity; // changes with all that is written in it
    std::variant<HeldRecord, SeenReservation, BlockObject> what;
};

/// All that was read, of which some is nobody's to judge.
struct Inventory {
    std::optional<SeenKind> pools{};  // if it is about them
    std::optional<SeenKind> blocks{}; // the same
    std::vector<Held> held;
    std::size_t foreign = 0;
    std::size_t unreadable = 0;
};

/// Records of pools, and reservations without a record in a pool.
[[nodiscard]] Inventory read_records(kube::Api& api, const base::Deadline& deadline);
[[nodiscard]] Inventory read_blocks(kube::Api& api, const base::Deadline& deadline);

/// Gives it back if nothing of it has changed. Returns why it stays; empty: it is free. Throws ipam::StoreError, also
/// where no answer says what became of it.
[[nodiscard]] std::string give_back(kube::Api& api, const Held& held, const base::Deadline& deadline);

} // namespace rdmanet::cluster
