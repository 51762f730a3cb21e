#include "pools.hpp"

#include <rdmanet/base/error.hpp>

namespace rdmanet::cluster {

/// A read that takes long is the first sign of a crowd, also one that gets no answer.
const Pool* WhereaboutsPools::read(const Place& place, const base::Deadline& deadline) {
    const std::string name = pool_name(place);
    const auto begun = base::Deadline::Clock::now();
    const auto note_time = [&] { turns_.note_read(name, base::Deadline::Clock::now() - begun); };
    kept_.erase(name);
    try {
        auto pool = api_.find_pool(place, deadline);
        note_time();
        return pool ? &kept_.emplace(name, *std::move(pool)).first->second : nullptr;
    } catch (const base::Error&) {
        note_time();
        throw;
    }
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

void WhereaboutsPools::wait_for_turn(const Place& place, const base::Deadline& deadline) {
    end_turn();
    turn_ = turns_.wait(pool_name(place), deadline);
    turn_at_ = place;
    if (turn_->is_among_nodes()) forget(place);
}

void WhereaboutsPools::wait_for_turn_if_crowded(const Place& place, const base::Deadline& deadline) {
    if (turns_.is_crowded(pool_name(place))) wait_for_turn(place, deadline);
}

void WhereaboutsPools::end_turn() {
    turn_.reset();
    turn_at_.reset();
}

} // namespace rdmanet::cluster
