// Pools as they were read, and the turn at the pool that is being written.
#pragma once

#include "api.hpp"
#include "pool.hpp"
#include "turn.hpp"

#include <rdmanet/base/deadline.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace rdmanet::cluster {

class WhereaboutsPools {
public:
    WhereaboutsPools(WhereaboutsApi& api, Turns turns) : api_(api), turns_(std::move(turns)) {}

    /// From the server. Kept until it is used, or forgotten because something has changed it. nullptr: there is none.
    const Pool* read(const Place& place, const base::Deadline& deadline);
    /// The pool that is kept, otherwise from the server.
    const Pool* look_at(const Place& place, const base::Deadline& deadline);
    /// The pool that is kept, and then no longer; otherwise from the server, made if it is absent. What was just read is
    /// good enough to try, because every write says what it expects to find.
    [[nodiscard]] Pool use(const Place& place, const base::Deadline& deadline);
    void keep(const Place& place, Pool pool);
    void forget(const Place& place);
    void forget_all() { kept_.clear(); }

    /// Ends the turn that this object has. What was read before a turn among nodes is out of date.
    void wait_for_turn(const Place& place, const base::Deadline& deadline);
    void wait_for_turn_if_crowded(const Place& place, const base::Deadline& deadline);
    [[nodiscard]] bool has_turn(const Place& place) const { return turn_at_ == place; }
    void end_turn();
    void note_crowd(const Place& place) const { turns_.note_crowd(pool_name(place)); }

private:
    WhereaboutsApi& api_;
    Turns turns_;
    std::optional<Turn> turn_;
    std::optional<Place> turn_at_;
    std::map<std::string, Pool> kept_; // by name
};

} // namespace rdmanet::cluster
