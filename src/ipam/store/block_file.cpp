#include <rdmanet/ipam/store/block_file.hpp>

#include "block_table.hpp"
#include "lease_file.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace rdmanet::ipam {

using Leases = std::vector<Lease>;

namespace {

void read_tables(Database& database) {
    BlockTable table(database, {}, 0);
    (void)table.file_id();
    (void)table.ranges();
    (void)table.blocks();
}

/// A number for the directory's entry in its parent, as this process sees it until the next boot. Empty: it can't be
/// had. The number of the mount tells a container's directory from the node's (statx(2), STATX_MNT_ID: Linux 5.8).
std::string number_of_place(const std::string& directory) {
    struct statx own {};
    struct statx parent {};
    const std::string above = directory + "/..";
    if (::statx(AT_FDCWD, directory.c_str(), 0, STATX_BASIC_STATS | STATX_MNT_ID, &own) != 0) return {};
    if (::statx(AT_FDCWD, above.c_str(), 0, STATX_BASIC_STATS | STATX_MNT_ID, &parent) != 0) return {};
    if ((own.stx_mask & parent.stx_mask & STATX_MNT_ID) == 0) return {};
    return fmt::format("{:016x}",
                       base::hash64(fmt::format("{} {}:{} {}:{} {} {}", own.stx_mnt_id, own.stx_dev_major,
                                                own.stx_dev_minor, parent.stx_dev_major, parent.stx_dev_minor,
                                                parent.stx_ino, directory.substr(directory.rfind('/') + 1))));
}

void note_place(Database& database, const std::string& directory) {
    if (const std::string place = number_of_place(directory); !place.empty())
        database.run("UPDATE file SET id = id || '-' || ?1", place);
}

const FileFormat kBlockFormat{
    .name = "blocks.sqlite", .more_tables = kBlockTables, .read_more_tables = read_tables, .note_place = note_place};

bool is_in_one_of(const std::vector<Block>& blocks, const Lease& lease) {
    return std::any_of(blocks.begin(), blocks.end(), [&](const Block& block) {
        return block.space == lease.space && block.prefix.contains(lease.address.address());
    });
}

bool has_slot(const std::vector<Lease>& held, std::size_t slot) {
    return std::any_of(held.begin(), held.end(), [&](const Lease& lease) { return lease.slot == slot; });
}

} // namespace

bool BlockFile::are_of_one_place(std::string_view id, std::string_view other) {
    const auto dash = id.find('-');
    const auto other_dash = other.find('-');
    if (dash == std::string_view::npos || other_dash == std::string_view::npos) return false;
    return id.substr(dash) == other.substr(other_dash);
}

class BlockFile::Impl {
public:
    explicit Impl(Options options)
        : boot_id_(std::move(options.boot_id)), file_({.state_directory = std::move(options.state_directory),
                                                       .known_leases = std::move(options.known_leases),
                                                       .clock = std::move(options.clock)},
                                                      kBlockFormat) {}

    template <class Result, class Act>
    Result read(const base::Deadline& deadline, Act act) {
        return file_.read<Result>(deadline, with_table<Act>(act));
    }
    template <class Result, class Act>
    Result write(const base::Deadline& deadline, Act act) {
        return file_.write<Result>(deadline, with_table<Act>(act));
    }
    template <class Result, class Act>
    Result make(const base::Deadline& deadline, Act act) {
        return file_.in_transaction<Result>(Transaction::Mode::write, LeaseFile::IfAbsent::make, deadline,
                                            with_table<Act>(act));
    }

    [[nodiscard]] LeaseFile& file() { return file_; }

private:
    template <class Act>
    auto with_table(Act& act) {
        return [this, &act](AddressPool& pool) {
            BlockTable table(file_.database(), boot_id_, file_.now().boot);
            return act(pool, table);
        };
    }

    std::string boot_id_;
    LeaseFile file_;
};

namespace {

Leases note(Leases released, BlockTable& table) {
    for (const Lease& lease : released) table.note_release(lease.space, lease.address.address());
    return released;
}

} // namespace

BlockFile::BlockFile(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
BlockFile::~BlockFile() = default;

ReserveOutcome BlockFile::reserve(const Owner& owner, const std::vector<Claim>& claims,
                                  const base::Deadline& deadline) {
    return impl_->make<ReserveOutcome>(deadline, [&](AddressPool& pool, BlockTable& table) -> ReserveOutcome {
        const Leases held = pool.leases().find_by_owner(owner.key);
        std::vector<Claim> narrowed = claims;
        for (std::size_t slot = 0; slot < claims.size(); ++slot) {
            if (has_slot(held, slot)) continue;
            Claim& claim = narrowed[slot];
            if (claim.wanted) {
                if (!table.is_open(claim.space, *claim.wanted)) return Exhausted{slot};
            } else if (claim.usable = table.open_part(claim); claim.usable.empty()) {
                // Before an address that the configuration sets: it may be in this range, which the cluster knows then.
                return Exhausted{slot};
            }
        }
        return pool.reserve(owner, narrowed);
    });
}

Leases BlockFile::release(const OwnerKey& key, const base::Deadline& deadline) {
    return impl_->write<Leases>(deadline, [&](AddressPool& pool, BlockTable& table) {
        return note(pool.release(pool.leases().find_by_owner(key)), table);
    });
}

Leases BlockFile::withdraw(const OwnerKey& key, const Leases& unused, const base::Deadline& deadline) {
    return impl_->write<Leases>(deadline, [&](AddressPool& pool, BlockTable& table) {
        return note(pool.release(pool.leases().find_by_owner(key), unused), table);
    });
}

Leases BlockFile::reclaim(const Leases& leases, const base::Deadline& deadline) {
    return impl_->write<Leases>(
        deadline, [&](AddressPool& pool, BlockTable& table) { return note(pool.release(leases), table); });
}

/// Addresses of a lost block have no heirs: another node may have given them.
Leases BlockFile::adopt(const Leases& leases, const Owner& heir, const base::Deadline& deadline) {
    return impl_->write<Leases>(deadline, [&](AddressPool& pool, BlockTable& table) {
        Leases kept = leases;
        std::erase_if(kept, [lost = table.lost()](const Lease& lease) { return is_in_one_of(lost, lease); });
        return pool.adopt(kept, heir);
    });
}

std::vector<Regained> BlockFile::regain(const Leases& leases, const base::Deadline& deadline) {
    using All = std::vector<Regained>;
    return impl_->make<All>(deadline, [&](AddressPool& pool, BlockTable& table) {
        All all;
        for (const Lease& lease : leases) {
            const bool is_open = table.is_open(lease.space, lease.address.address());
            all.push_back(is_open ? pool.regain(lease)
                                  : Regained{.lease = lease, .refused = "it is in no open block of this node"});
        }
        return all;
    });
}

Leases BlockFile::find(const OwnerKey& key, const base::Deadline& deadline) {
    return impl_->read<Leases>(deadline,
                               [&](AddressPool& pool, BlockTable&) { return pool.leases().find_by_owner(key); });
}

Leases BlockFile::find_predecessors(const Owner& owner, const base::Deadline& deadline) {
    return impl_->read<Leases>(deadline,
                               [&](AddressPool& pool, BlockTable&) { return pool.leases().find_by_pod(owner); });
}

Leases BlockFile::list(const Claim& claim, const std::optional<base::IpAddress>& after, std::size_t most,
                       const base::Deadline& deadline) {
    return impl_->read<Leases>(deadline,
                               [&](AddressPool& pool, BlockTable&) { return pool.leases().list(claim, after, most); });
}

Leases BlockFile::list_all(const base::Deadline& deadline) {
    return impl_->read<Leases>(deadline, [&](AddressPool& pool, BlockTable&) { return pool.leases().list_all(); });
}

bool BlockFile::has_free(const Claim& claim, const base::Deadline& deadline) {
    return impl_->read<bool>(deadline, [&](AddressPool& pool, BlockTable& table) {
        Claim narrowed = claim;
        narrowed.usable = table.open_part(claim);
        return pool.has_free(narrowed);
    });
}

Usage BlockFile::usage(const Claim& claim, const base::Deadline& deadline) {
    return impl_->read<Usage>(deadline, [&](AddressPool& pool, BlockTable&) { return pool.usage(claim); });
}

std::vector<Rival> BlockFile::find_rivals(const base::Deadline& deadline) {
    return impl_->read<std::vector<Rival>>(deadline, [&](AddressPool&, BlockTable& table) {
        std::vector<Rival> rivals;
        for (const Block& block : table.lost())
            rivals.push_back({.space = block.space, .addresses = block.prefix, .holder = block.holder});
        return rivals;
    });
}

std::string BlockFile::id(const base::Deadline& deadline) {
    return impl_->make<std::string>(deadline, [](AddressPool&, BlockTable& table) { return table.file_id(); });
}

std::vector<BlockRange> BlockFile::ranges(const base::Deadline& deadline) {
    return impl_->read<std::vector<BlockRange>>(deadline,
                                                [](AddressPool&, BlockTable& table) { return table.ranges(); });
}

void BlockFile::put_range(const BlockRange& range, const base::Deadline& deadline) {
    impl_->make<bool>(deadline, [&](AddressPool&, BlockTable& table) { return table.put_range(range), true; });
}

void BlockFile::forget_range(const BlockRange& range, const base::Deadline& deadline) {
    impl_->write<bool>(deadline, [&](AddressPool&, BlockTable& table) { return table.forget_range(range), true; });
}

bool BlockFile::has_looked(const std::string& kubeconfig, const std::string& node_name,
                           const base::Deadline& deadline) {
    return impl_->read<bool>(deadline,
                             [&](AddressPool&, BlockTable& table) { return table.has_looked(kubeconfig, node_name); });
}

void BlockFile::set_looked(const std::string& kubeconfig, const std::string& node_name,
                           const base::Deadline& deadline) {
    impl_->write<bool>(deadline, [&](AddressPool&, BlockTable& table) {
        table.set_looked(kubeconfig, node_name);
        return true;
    });
}

void BlockFile::set_full(const Claim& claim, const base::Deadline& deadline) {
    impl_->make<bool>(deadline, [&](AddressPool&, BlockTable& table) { return table.set_full(claim), true; });
}

bool BlockFile::is_full(const Claim& claim, std::chrono::seconds within, const base::Deadline& deadline) {
    return impl_->read<bool>(deadline,
                             [&](AddressPool&, BlockTable& table) { return table.is_full(claim, within.count()); });
}

std::vector<Block> BlockFile::blocks(const base::Deadline& deadline) {
    return impl_->read<std::vector<Block>>(deadline, [](AddressPool&, BlockTable& table) { return table.blocks(); });
}

void BlockFile::add(const Block& block, const base::Deadline& deadline) {
    impl_->make<bool>(deadline, [&](AddressPool&, BlockTable& table) { return table.add(block), true; });
}

void BlockFile::open(const Block& block, const base::Deadline& deadline) {
    impl_->make<bool>(deadline, [&](AddressPool&, BlockTable& table) { return table.open(block), true; });
}

void BlockFile::set_written(const Block& block, const base::Deadline& deadline) {
    impl_->make<bool>(deadline, [&](AddressPool&, BlockTable& table) { return table.set_written(block), true; });
}

void BlockFile::lose(const Block& block, const std::string& holder, const base::Deadline& deadline) {
    impl_->write<bool>(deadline, [&](AddressPool&, BlockTable& table) { return table.lose(block, holder), true; });
}

void BlockFile::remove(const Block& block, const base::Deadline& deadline) {
    impl_->write<bool>(deadline, [&](AddressPool& pool, BlockTable& table) {
        if (!table.remove(block)) return false;
        pool.forget_resting(block.space, block.prefix);
        return true;
    });
}

bool BlockFile::close_idle(std::chrono::seconds idle, const base::Deadline& deadline) {
    return impl_->write<bool>(deadline,
                              [&](AddressPool&, BlockTable& table) { return table.close_idle(idle.count()); });
}

void BlockFile::close_empty(const BlockRange& range, const base::Deadline& deadline) {
    impl_->write<bool>(deadline, [&](AddressPool&, BlockTable& table) { return table.close_empty(range), true; });
}

void BlockFile::close_abandoned(const base::Deadline& deadline) {
    impl_->write<bool>(deadline, [&](AddressPool&, BlockTable& table) { return table.close_abandoned(), true; });
}

Time BlockFile::now() const {
    return impl_->file().now();
}

std::optional<std::string> BlockFile::repair(const base::Deadline& deadline) {
    impl_->file().close();
    return impl_->file().file().repair(deadline);
}

std::vector<std::string> BlockFile::verify(const base::Deadline& deadline) {
    return impl_->read<std::vector<std::string>>(
        deadline, [&](AddressPool&, BlockTable&) { return find_faults(impl_->file().database(), kBlockFormat); });
}

const std::string& BlockFile::path() const {
    return impl_->file().file().path();
}

} // namespace rdmanet::ipam
