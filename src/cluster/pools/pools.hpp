// Pools as they were read.
#pragma once

#include "api.hpp"
#include "pool.hpp"

#include <rdmanet/base/deadline.hpp>

#include <map>
#include <string>
#include <utility>

namespace rdmanet::cluster {

class WhereaboutsPools {
public:
    explicit WhereaboutsPools(WhereaboutsApi& api) : api_(api) {}

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

private:
    WhereaboutsApi& api_;
    std::map<std::string, Pool> kept_; // by name
};

} // namespace rdmanet::cluster
