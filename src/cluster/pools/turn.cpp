#include "turn.hpp"

#include "blocks/objects.hpp"
#include "pool.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/http/client.hpp>
#include <rdmanet/http/pause.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace rdmanet::cluster {
namespace {

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

std::string metadata_of(const kube::Object& object, std::string_view member) {
    const auto metadata = object.content.root().find("metadata");
    return metadata ? text_or_empty(*metadata, member) : std::string();
}

/// By the server's clock, whoever looks, and however long.
bool is_too_long(const kube::Object& lease) {
    const std::int64_t begun = seconds_of(metadata_of(lease, "creationTimestamp"));
    return lease.date && begun != 0 && *lease.date - begun > kLongestTurn.count();
}

/// A busy server would refuse the claim, too.
void require_not_busy(const kube::Refused& refused) {
    if (refused.is_temporary())
        throw ipam::StoreError(ipam::StoreError::Kind::temporary, fmt::format("lease store: {}", refused.message));
}

/// Throws for a refusal that says something else, as that a right is missing.
bool is_gone(const kube::Outcome& outcome) {
    const auto* refused = std::get_if<kube::Refused>(&outcome);
    if (refused == nullptr) return false;
    require_not_busy(*refused);
    if (refused->why == kube::Refusal::not_found || refused->why == kube::Refusal::conflict) return true;
    throw base::Error(refused->message);
}

} // namespace

Turn::Turn(Turn&& other) noexcept
    : of_node_(std::move(other.of_node_)), api_(std::exchange(other.api_, nullptr)), path_(std::move(other.path_)),
      uid_(std::move(other.uid_)) {}

Turn& Turn::operator=(Turn&& other) noexcept {
    if (this == &other) return *this;
    end();
    of_node_ = std::move(other.of_node_);
    api_ = std::exchange(other.api_, nullptr);
    path_ = std::move(other.path_);
    uid_ = std::move(other.uid_);
    return *this;
}

Turn::~Turn() {
    end();
}

/// A Lease that stays is taken away by the next one who waits for it.
void Turn::end() noexcept {
    if (api_ == nullptr) return;
    try {
        (void)std::exchange(api_, nullptr)
            ->remove(path_, {.uid = uid_, .resource_version = {}}, base::Deadline::in(kLongestTurn));
    } catch (const base::Error&) {
    }
}

Turn Turns::wait(const std::string& pool, const base::Deadline& deadline) const {
    const auto left = deadline.remaining();
    const base::Deadline patience = deadline.at_most(std::max(left - kForTheClaim, left / 2));
    Turn turn;
    turn.of_node_ = lock_node(pool, patience);
    if (!is_crowded(pool)) return turn;
    try {
        wait_for_lease(turn, pool, patience, deadline);
    } catch (const base::TimeoutError&) {
        throw;
    } catch (const ipam::StoreError&) {
        throw;
    } catch (const http::TransportError& error) { // the claim would wait for the same server again
        throw ipam::StoreError(ipam::StoreError::Kind::unreachable, fmt::format("lease store: {}", error.what()));
    } catch (const base::Error&) { // without a turn
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

/// False: somebody else has it. Without the right to it there are no turns.
bool Turns::take_lease(Turn& turn, const std::string& pool, const base::Deadline& deadline) const {
    json::Writer lease;
    lease.begin_object()
        .member("apiVersion", "coordination.k8s.io/v1")
        .member("kind", "Lease")
        .key("metadata")
        .begin_object();
    lease.member("name", name_of_turn(pool)).end_object();
    lease.key("spec").begin_object().member("holderIdentity", options_.holder).end_object().end_object();
    const kube::Outcome made = api_.create(kLeases, lease.to_text(), deadline);
    if (const auto* refused = std::get_if<kube::Refused>(&made)) {
        if (refused->why == kube::Refusal::already_exists) return false;
        require_not_busy(*refused);
        return true;
    }
    turn.api_ = &api_;
    turn.path_ = fmt::format("{}/{}", kLeases, name_of_turn(pool));
    turn.uid_ = metadata_of(std::get<kube::Object>(made), "uid");
    return true;
}

/// Requests have until `deadline`, and other nodes until `patience`.
void Turns::wait_for_lease(Turn& turn, const std::string& pool, const base::Deadline& patience,
                           const base::Deadline& deadline) const {
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
                         const base::Deadline& patience, const base::Deadline& deadline) const {
    const std::string path = fmt::format("{}/{}", kLeases, name_of_turn(pool));
    while (!patience.passed()) {
        note_crowd(pool);
        const auto waited = std::chrono::ceil<milliseconds>(base::Deadline::Clock::now() - begun);
        http::pause(std::min(http::with_jitter(std::clamp(waited / 2, kMostOftenPolled, kLeastOftenPolled)),
                             patience.remaining()));
        const kube::Outcome seen = api_.get(path + "?resourceVersion=0", deadline);
        if (is_gone(seen)) return;
        const auto& lease = std::get<kube::Object>(seen);
        if (!is_too_long(lease)) continue;
        (void)is_gone(api_.remove(path, {.uid = metadata_of(lease, "uid"), .resource_version = {}}, deadline));
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
    if (options_.state_directory.empty()) return false;
    const auto since = base::parse_integer<std::int64_t>(memory_of(pool).find().value_or(""));
    const std::int64_t now = options_.clock();
    return since && *since <= now && now - *since < within.count();
}

void Turns::note_crowd(const std::string& pool) const {
    if (!options_.state_directory.empty() && !is_noted(pool, kNotedAgain))
        memory_of(pool).note(fmt::format("{}", options_.clock()));
}

void Turns::note_read(const std::string& pool, base::Deadline::Clock::duration took) const {
    if (took >= kSlowRead) note_crowd(pool);
}

bool Turns::is_crowded(const std::string& pool) const {
    if (options_.state_directory.empty()) return false;
    return is_noted(pool, kCrowdLasts) || !memory_of(pool).find(); // nodes start together
}

} // namespace rdmanet::cluster
