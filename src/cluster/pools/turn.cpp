#include "turn.hpp"

#include "blocks/objects.hpp"
#include "pool.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/http/pause.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>

namespace rdmanet::cluster {
namespace {

using ipam::StoreError;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/rdmanet-turns/leases";
// A node that is alone waits less for a pool of the largest size.
constexpr milliseconds kSlowRead{100};
constexpr seconds kCrowdLasts{10};
constexpr seconds kNotedAgain{2};
// Whoever has one turn for longer was killed, or has a slow server.
constexpr seconds kLongestTurn{4};
// What an ADD keeps of its time for the claim itself.
constexpr seconds kForTheClaim{5};
constexpr milliseconds kMostOftenPolled{20};
constexpr milliseconds kLeastOftenPolled{1000};

/// By the server's clock, whoever looks, and however long.
bool is_too_long(const kube::Object& lease, const json::Reader& metadata) {
    const std::int64_t begun = seconds_of(text_or_empty(metadata, "creationTimestamp"));
    return lease.date && begun != 0 && *lease.date - begun > kLongestTurn.count();
}

} // namespace

/// One that stays is taken away by the next one who waits for it.
Turn::OfNodes::~OfNodes() {
    try {
        (void)api_.remove(path_, {.uid = uid_}, base::Deadline::in(kLongestTurn));
    } catch (const base::Error&) {
    }
}

Turn Turns::wait(const std::string& pool, const base::Deadline& deadline) {
    const auto left = deadline.remaining();
    const base::Deadline patience = deadline.at_most(std::max(left - kForTheClaim, left / 2));
    Turn turn;
    turn.of_node_ = lock_node(pool, patience);
    if (!is_crowded(pool)) return turn;
    try {
        wait_for_lease(turn, pool, patience, deadline);
    } catch (const StoreError& error) {
        if (error.temporary()) throw; // the claim would wait for the same server again
    }
    return turn;
}

base::FileLock Turns::lock_node(const std::string& pool, const base::Deadline& deadline) const try {
    if (options_.state_directory.empty()) return {};
    base::make_directories(options_.state_directory);
    return {options_.state_directory + "/pools.lock", base::hash64(pool) >> 1U, "the turn at a pool", deadline};
} catch (const base::Error&) {
    return {};
}

/// False: somebody else has it.
bool Turns::take_lease(Turn& turn, const std::string& pool, const base::Deadline& deadline) {
    json::Writer lease;
    lease.begin_object().member("apiVersion", "coordination.k8s.io/v1").member("kind", "Lease");
    lease.key("metadata").begin_object().member("name", name_of_turn(pool)).end_object();
    lease.key("spec").begin_object().member("holderIdentity", options_.holder).end_object().end_object();
    const WriteOutcome made = requests_.create(kLeases, lease.to_text(), deadline);
    if (made.done == WriteOutcome::Done::unknown)
        throw StoreError(StoreError::Kind::unreachable, fmt::format("lease store: {}", made.trouble));
    if (made.done == WriteOutcome::Done::no) return false;
    turn.of_nodes_ = std::make_unique<Turn::OfNodes>(api_, path_to(kLeases, name_of_turn(pool)), made.uid);
    return true;
}

/// Requests have until `deadline`, and other nodes until `patience`.
void Turns::wait_for_lease(Turn& turn, const std::string& pool, const base::Deadline& patience,
                           const base::Deadline& deadline) {
    const auto begun = base::Deadline::Clock::now();
    if (!memory_of(pool).find()) memory_of(pool).note("0"); // no crowd yet
    while (!take_lease(turn, pool, deadline)) {
        wait_for_end(pool, begun, patience, deadline);
        if (!patience.passed()) continue;
        throw base::TimeoutError(
            fmt::format("waited for a turn at IPPool {}/{}, for which other nodes compete", options_.name_space, pool));
    }
}

/// Those who wait for long are many, and one of them soon sees that the turn is over. The server answers from its
/// memory.
void Turns::wait_for_end(const std::string& pool, base::Deadline::Clock::time_point begun,
                         const base::Deadline& patience, const base::Deadline& deadline) {
    const std::string path = path_to(kLeases, name_of_turn(pool));
    while (!patience.passed()) {
        note_crowd(pool);
        const auto waited = std::chrono::ceil<milliseconds>(base::Deadline::Clock::now() - begun);
        http::pause(std::min(http::with_jitter(std::clamp(waited / 2, kMostOftenPolled, kLeastOftenPolled)),
                             patience.remaining()));
        const auto lease = requests_.find(from(path, From::memory), deadline);
        if (!lease) return;
        const json::Reader metadata = lease->content.root().at("metadata");
        if (!is_too_long(*lease, metadata)) continue;
        (void)requests_.remove(path, {.uid = text_or_empty(metadata, "uid")}, deadline);
        return;
    }
}

/// Pools of one name may be in several namespaces.
std::string Turns::name_of_turn(const std::string& pool) const {
    return fmt::format("{}.{}", options_.name_space, pool);
}

base::BootMemory Turns::memory_of(const std::string& pool) const {
    return {options_.state_directory, options_.boot_id, "crowd", pool};
}

bool Turns::is_noted(const std::string& pool, seconds within) const {
    return !options_.state_directory.empty() && memory_of(pool).was_noted_within(within, options_.clock());
}

void Turns::note_crowd(const std::string& pool) const {
    if (!options_.state_directory.empty() && !is_noted(pool, kNotedAgain)) memory_of(pool).note_time(options_.clock());
}

void Turns::note_read(const std::string& pool, base::Deadline::Clock::duration took) const {
    if (took >= kSlowRead) note_crowd(pool);
}

bool Turns::is_crowded(const std::string& pool) const {
    if (options_.state_directory.empty()) return false;
    return is_noted(pool, kCrowdLasts) || !memory_of(pool).find(); // nodes start together
}

} // namespace rdmanet::cluster
