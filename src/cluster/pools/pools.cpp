#include "pools.hpp"

namespace rdmanet::cluster {

const Pool* WhereaboutsPools::read(const Place& place, const base::Deadline& deadline) {
    const std::string name = pool_name(place);
    kept_.erase(name);
    auto pool = api_.find_pool(place, deadline);
    return pool ? &kept_.emplace(name, *std::move(pool)).first->second : nullptr;
}

const Pool* WhereaboutsPools::look_at(const Place& place, const base::Deadline& deadline) {
    const auto kept = kept_.find(pool_name(place));
    return kept != kept_.end() ? &kept->second : read(place, deadline);
}

Pool WhereaboutsPools::use(const Place& place, const base::Deadline& deadline) {
    if (const auto kept = kept_.extract(pool_name(place))) return std::move(kept.mapped());
    return api_.get_pool(place, deadline);
}

void WhereaboutsPools::keep(const Place& place, Pool pool) {
    kept_.insert_or_assign(pool_name(place), std::move(pool));
}

void WhereaboutsPools::forget(const Place& place) {
    kept_.erase(pool_name(place));
}

} // namespace rdmanet::cluster
