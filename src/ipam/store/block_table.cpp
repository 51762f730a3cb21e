#include "block_table.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/ipam/block_cut.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace rdmanet::ipam {

using base::IpAddress;
using base::IpPrefix;

const char* const kBlockTables = R"sql(
CREATE TABLE file(id TEXT NOT NULL) STRICT;
INSERT INTO file VALUES(lower(hex(randomblob(16))));
CREATE TABLE ranges(
  space TEXT NOT NULL, first BLOB NOT NULL, last BLOB NOT NULL, length INTEGER NOT NULL, block_size INTEGER NOT NULL,
  requestable TEXT NOT NULL, kubeconfig TEXT NOT NULL, node_name TEXT NOT NULL, looked_in TEXT NOT NULL,
  full_since INTEGER NOT NULL,
  PRIMARY KEY(space, first)) STRICT, WITHOUT ROWID;
CREATE TABLE blocks(
  space TEXT NOT NULL, first BLOB NOT NULL, last BLOB NOT NULL, length INTEGER NOT NULL, range_length INTEGER NOT NULL,
  state INTEGER NOT NULL, version TEXT NOT NULL, node_uid TEXT NOT NULL, boot_id TEXT NOT NULL, since INTEGER NOT NULL,
  PRIMARY KEY(space, first, length)) STRICT, WITHOUT ROWID;
)sql";

namespace {

#define RDMANET_BLOCK_COLUMNS "space, first, length, range_length, state, version, node_uid, boot_id, since"
#define RDMANET_RANGE_COLUMNS "space, first, length, block_size, requestable, kubeconfig, node_name"

constexpr const char* kSelectBlocks = "SELECT " RDMANET_BLOCK_COLUMNS " FROM blocks ORDER BY space, first, length";
constexpr const char* kSelectAround =
    "SELECT " RDMANET_BLOCK_COLUMNS " FROM blocks WHERE space = ?1 AND first <= ?2 AND last >= ?2";
constexpr const char* kSelectByState =
    "SELECT " RDMANET_BLOCK_COLUMNS " FROM blocks WHERE state = ?1 ORDER BY space, first, length";
constexpr const char* kSelectRanges = "SELECT " RDMANET_RANGE_COLUMNS " FROM ranges ORDER BY space, first";
constexpr const char* kSelectRange =
    "SELECT " RDMANET_RANGE_COLUMNS " FROM ranges WHERE space = ?1 AND first <= ?2 AND last >= ?2";

#undef RDMANET_BLOCK_COLUMNS
#undef RDMANET_RANGE_COLUMNS

std::int64_t number_of(BlockState state) {
    return static_cast<std::int64_t>(state);
}

std::int64_t length_of(const IpPrefix& prefix) {
    return std::int64_t{prefix.length()};
}

IpPrefix prefix_in(Database& database, Query& row, int address_column, int length_column) {
    const std::int64_t length = row.integer(length_column);
    const auto prefix = length < 0 || length > 128
                            ? std::nullopt
                            : IpPrefix::make(row.address(address_column), static_cast<unsigned>(length));
    if (!prefix) database.fail_as_damaged("a block has an impossible length");
    return *prefix;
}

BlockRange range_in(Database& database, Query& row) {
    const std::int64_t size = row.integer(3);
    if (size < 1 || size > kMostBlockSize) database.fail_as_damaged("a range has an impossible block size");
    return {.space = row.text(0),
            .subnet = prefix_in(database, row, 1, 2),
            .block_size = static_cast<unsigned>(size),
            .requestable = IpPrefix::parse(row.text(4)),
            .kubeconfig = row.text(5),
            .node_name = row.text(6)};
}

constexpr unsigned kClaimBits = 32;

/// Seconds since boot, and in the lower bits which part of the range it is about: another network may use another part.
std::int64_t full_mark(const Claim& claim, std::int64_t seconds) {
    std::string usable;
    for (const Interval& interval : claim.usable) usable += to_text(claim.family, interval) + " ";
    return (seconds << kClaimBits) | static_cast<std::int64_t>(base::hash64(usable) >> kClaimBits);
}

/// What is in both. `blocks` is sorted and disjoint, as `usable` is.
std::vector<Interval> intersection(const std::vector<Interval>& usable, const std::vector<Interval>& blocks) {
    std::vector<Interval> common;
    auto block = blocks.begin();
    for (const Interval& interval : usable) {
        while (block != blocks.end() && block->last < interval.first) ++block;
        for (auto at = block; at != blocks.end() && at->first <= interval.last; ++at)
            common.push_back({std::max(at->first, interval.first), std::min(at->last, interval.last)});
    }
    return common;
}

} // namespace

bool BlockRange::is_on_request(const IpPrefix& block) const {
    if (block.length() != base::address_bits(block.family())) return false;
    return subnet.length() == block.length() || (requestable && requestable->contains(block.address()));
}

std::string BlockTable::file_id() {
    Query query = database_.query("SELECT id FROM file");
    if (!query.step()) database_.fail_as_damaged("it has no name");
    return query.text(0);
}

std::vector<BlockRange> BlockTable::ranges() {
    std::vector<BlockRange> ranges;
    Query query = database_.query(kSelectRanges);
    while (query.step()) ranges.push_back(range_in(database_, query));
    for (BlockRange& range : ranges) range.was_moving = was_moving(range);
    return ranges;
}

/// Of a file that an earlier version has made.
bool BlockTable::has_held_table() {
    return database_.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'held'").step();
}

bool BlockTable::was_moving(const BlockRange& range) {
    return has_held_table() &&
           database_
               .query("SELECT 1 FROM held WHERE space = ?1 AND first BETWEEN ?2 AND ?3", range.space,
                      AddressKey(range.subnet.network()), AddressKey(range.subnet.last()))
               .step();
}

std::optional<BlockRange> BlockTable::find_range(const std::string& space, const IpAddress& address) {
    Query query = database_.query(kSelectRange, space, AddressKey(address));
    while (query.step())
        if (BlockRange range = range_in(database_, query); range.subnet.contains(address)) return range;
    return std::nullopt;
}

void BlockTable::put_range(const BlockRange& range) {
    if (range.block_size == 0) // of another store: the table would be taken for damaged
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("lease store: range {} is not cut into blocks", range.subnet));
    database_.run(
        "INSERT INTO ranges(space, first, last, length, block_size, requestable, kubeconfig, node_name, "
        "looked_in, full_since) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, '', 0) ON CONFLICT(space, first) DO UPDATE SET "
        "last = ?3, length = ?4, block_size = ?5, requestable = ?6, kubeconfig = ?7, node_name = ?8",
        range.space, AddressKey(range.subnet.network()), AddressKey(range.subnet.last()), length_of(range.subnet),
        std::int64_t{range.block_size}, range.requestable ? range.requestable->to_string() : std::string(),
        range.kubeconfig, range.node_name);
    if (!range.was_moving && has_held_table())
        database_.run("DELETE FROM held WHERE space = ?1 AND first BETWEEN ?2 AND ?3", range.space,
                      AddressKey(range.subnet.network()), AddressKey(range.subnet.last()));
}

void BlockTable::forget_range(const BlockRange& range) {
    database_.run("DELETE FROM ranges WHERE space = ?1 AND first = ?2 AND NOT EXISTS (SELECT 1 FROM blocks WHERE "
                  "blocks.space = ranges.space AND blocks.first BETWEEN ranges.first AND ranges.last)",
                  range.space, AddressKey(range.subnet.network()));
}

bool BlockTable::has_looked(const std::string& kubeconfig, const std::string& node_name) {
    Query query = database_.query("SELECT 1 FROM ranges WHERE kubeconfig = ?1 AND node_name = ?2 AND looked_in = ?3",
                                  kubeconfig, node_name, boot_id_);
    return query.step();
}

void BlockTable::set_looked(const std::string& kubeconfig, const std::string& node_name) {
    database_.run("UPDATE ranges SET looked_in = ?3 WHERE kubeconfig = ?1 AND node_name = ?2", kubeconfig, node_name,
                  boot_id_);
}

void BlockTable::set_full(const Claim& claim) {
    if (claim.usable.empty()) return;
    database_.run("UPDATE ranges SET full_since = ?3 WHERE space = ?1 AND first <= ?2 AND last >= ?2", claim.space,
                  AddressKey({claim.family, claim.usable.front().first}), full_mark(claim, now_));
}

bool BlockTable::is_full(const Claim& claim, std::int64_t within) {
    if (claim.usable.empty()) return true;
    Query query = database_.query("SELECT full_since FROM ranges WHERE space = ?1 AND first <= ?2 AND last >= ?2",
                                  claim.space, AddressKey({claim.family, claim.usable.front().first}));
    if (!query.step() || query.integer(0) == 0) return false;
    const std::int64_t since = query.integer(0) >> kClaimBits;
    const std::int64_t passed = now_ - since;
    return query.integer(0) == full_mark(claim, since) && passed >= 0 && passed < within;
}

Block BlockTable::block_in(Query& row) {
    const IpPrefix prefix = prefix_in(database_, row, 1, 2);
    const IpPrefix in_range = prefix_in(database_, row, 1, 3);
    const std::int64_t state = row.integer(4);
    if (state < 0 || state > number_of(BlockState::lost)) database_.fail_as_damaged("a block has an impossible state");
    // The UID of a lost block's node says nothing: its holder's name is there instead.
    const bool is_lost = state == number_of(BlockState::lost);
    return {.space = row.text(0),
            .prefix = prefix,
            .range = *IpPrefix::make(in_range.network(), in_range.length()),
            .state = static_cast<BlockState>(state),
            .version = row.text(5),
            .node_uid = is_lost ? std::string() : row.text(6),
            .boot_id = row.text(7),
            .since = row.integer(8),
            .holder = is_lost ? row.text(6) : std::string()};
}

std::vector<Block> BlockTable::blocks() {
    std::vector<Block> blocks;
    {
        Query query = database_.query(kSelectBlocks);
        while (query.step()) blocks.push_back(block_in(query));
    }
    for (Block& block : blocks) block.leases = count_leases(block);
    return blocks;
}

std::vector<Block> BlockTable::lost() {
    std::vector<Block> lost;
    Query query = database_.query(kSelectByState, number_of(BlockState::lost));
    while (query.step()) lost.push_back(block_in(query));
    return lost;
}

std::uint64_t BlockTable::count_leases(const Block& block) {
    Query query = database_.query("SELECT count(*) FROM leases WHERE space = ?1 AND address BETWEEN ?2 AND ?3",
                                  block.space, AddressKey(block.prefix.network()), AddressKey(block.prefix.last()));
    return query.step() ? static_cast<std::uint64_t>(query.integer(0)) : 0;
}

void BlockTable::add(const Block& block) {
    database_.run("INSERT OR IGNORE INTO blocks(space, first, last, length, range_length, state, version, node_uid, "
                  "boot_id, since) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                  block.space, AddressKey(block.prefix.network()), AddressKey(block.prefix.last()),
                  length_of(block.prefix), length_of(block.range), number_of(block.state), block.version,
                  block.node_uid, block.boot_id, now_);
}

void BlockTable::open(const Block& block) {
    Block opened = block;
    opened.state = BlockState::open;
    opened.boot_id = boot_id_;
    add(opened);
    set_written(opened);
    set_state(opened, BlockState::open);
}

void BlockTable::set_written(const Block& block) {
    database_.run("UPDATE blocks SET version = ?4, node_uid = ?5, boot_id = ?6 "
                  "WHERE space = ?1 AND first = ?2 AND length = ?3",
                  block.space, AddressKey(block.prefix.network()), length_of(block.prefix), block.version,
                  block.node_uid, block.boot_id);
}

void BlockTable::set_state(const Block& block, BlockState state) {
    database_.run("UPDATE blocks SET state = ?4, since = ?5 WHERE space = ?1 AND first = ?2 AND length = ?3",
                  block.space, AddressKey(block.prefix.network()), length_of(block.prefix), number_of(state), now_);
}

void BlockTable::lose(const Block& block, const std::string& holder) {
    Block lost = block;
    lost.node_uid = holder;
    lost.version.clear();
    lost.boot_id = boot_id_;
    set_written(lost);
    set_state(block, count_leases(block) == 0 ? BlockState::closed : BlockState::lost);
}

bool BlockTable::remove(const Block& block) {
    return database_.run("DELETE FROM blocks WHERE space = ?1 AND first = ?2 AND length = ?3 AND "
                         "NOT (state IN (?4, ?6) AND boot_id = ?5)",
                         block.space, AddressKey(block.prefix.network()), length_of(block.prefix),
                         number_of(BlockState::open), boot_id_, number_of(BlockState::lost)) != 0;
}

std::vector<Interval> BlockTable::open_part(const Claim& claim) {
    if (claim.usable.empty()) return {};
    std::vector<Interval> open;
    Query query = database_.query("SELECT first, last FROM blocks WHERE space = ?1 AND state = ?2 AND boot_id = ?3 "
                                  "AND last >= ?4 AND first <= ?5 ORDER BY first, length",
                                  claim.space, number_of(BlockState::open), boot_id_,
                                  AddressKey({claim.family, claim.usable.front().first}),
                                  AddressKey({claim.family, claim.usable.back().last}));
    while (query.step()) {
        const Interval block{query.address(0).value(), query.address(1).value()};
        // Neighbours become one interval, which is one search however many blocks are full.
        if (!open.empty() && block.first <= open.back().last) continue; // a block of one, within a part that is not cut
        if (!open.empty() && open.back().last + 1 == block.first)
            open.back().last = block.last;
        else
            open.push_back(block);
    }
    const auto range = find_range(claim.space, {claim.family, claim.usable.front().first});
    if (!range || was_moving(*range)) return {};
    const BlockCut cut(range->subnet, range->block_size, range->requestable);
    return intersection(cut.without_requestable(claim.usable), open);
}

bool BlockTable::is_open(const std::string& space, const IpAddress& address) {
    const auto range = find_range(space, address);
    if (!range || was_moving(*range)) return false;
    const IpPrefix its = BlockCut(range->subnet, range->block_size, range->requestable).block_of(address);
    Query query =
        database_.query("SELECT 1 FROM blocks WHERE space = ?1 AND first = ?2 AND length = ?3 AND "
                        "state = ?4 AND boot_id = ?5",
                        space, AddressKey(its.network()), length_of(its), number_of(BlockState::open), boot_id_);
    return query.step();
}

void BlockTable::note_release(const std::string& space, const IpAddress& address) {
    const auto range = find_range(space, address);
    database_.run(
        "UPDATE ranges SET full_since = 0 WHERE space = ?1 AND first <= ?2 AND last >= ?2 AND full_since <> 0", space,
        AddressKey(address));
    std::vector<Block> around;
    {
        Query query = database_.query(kSelectAround, space, AddressKey(address));
        while (query.step()) around.push_back(block_in(query));
    }
    for (const Block& block : around) {
        const bool is_lost = block.state == BlockState::lost;
        if ((block.state != BlockState::open && !is_lost) || count_leases(block) != 0) continue;
        const bool goes = is_lost || (range && range->is_on_request(block.prefix));
        set_state(block, goes ? BlockState::closed : BlockState::open);
    }
}

void BlockTable::close_empty(const BlockRange& range) {
    for (const Block& block : blocks()) {
        const bool is_of_range = block.space == range.space && block.range == range.subnet;
        const bool may_close = block.state == BlockState::open || block.state == BlockState::earlier;
        if (is_of_range && may_close && block.leases == 0) set_state(block, BlockState::closed);
    }
}

void BlockTable::close_abandoned() {
    for (const Block& block : blocks()) {
        if (block.state != BlockState::open || block.leases != 0) continue;
        const auto range = find_range(block.space, block.prefix.address());
        if (range && range->is_on_request(block.prefix)) set_state(block, BlockState::closed);
    }
}

bool BlockTable::close_idle(std::int64_t idle) {
    std::vector<Block> all = blocks();
    bool has_closed = false;
    for (const Block& block : all) {
        if (block.state == BlockState::closed) has_closed = true;
        const bool is_of_this_boot = block.boot_id == boot_id_;
        const bool is_kept = is_of_this_boot && block.state == BlockState::lost; // until its last lease is released
        if (is_kept || block.state == BlockState::claiming || block.state == BlockState::closed || block.leases != 0)
            continue;
        if (block.since <= now_ && now_ - block.since < idle) continue;
        const auto range = find_range(block.space, block.prefix.address());
        const bool is_on_request = range && range->is_on_request(block.prefix);
        const bool is_last_used = std::none_of(all.begin(), all.end(), [&](const Block& other) {
            return other.state == BlockState::open && other.leases == 0 && other.space == block.space &&
                   other.range == block.range && other.prefix != block.prefix &&
                   std::pair(other.since, other.prefix.address()) > std::pair(block.since, block.prefix.address()) &&
                   !(range && range->is_on_request(other.prefix));
        });
        if (is_last_used && !is_on_request && is_of_this_boot && block.state == BlockState::open) continue;
        set_state(block, BlockState::closed);
        has_closed = true;
    }
    return has_closed;
}

} // namespace rdmanet::ipam
