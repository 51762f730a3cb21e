#include <rdmanet/ipam/store/block_file.hpp>

#include "block_table.hpp"
#include "book_file.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace rdmanet::ipam {

using Leases = std::vector<Lease>;

namespace {

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

/// A random name, and that of the place.
std::string new_file_id(const std::string& directory) {
    std::array<std::uint64_t, 2> random{};
    if (::getrandom(random.data(), sizeof random, 0) != sizeof random)
        throw base::SystemError("get random bytes", errno);
    const std::string place = number_of_place(directory);
    return fmt::format("{:016x}{:016x}{}{}", random[0], random[1], place.empty() ? "" : "-", place);
}

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

class BlockFile::Impl : public BookFile {
public:
    explicit Impl(const Options& options)
        : BookFile({.state_directory = options.state_directory,
                    .known_leases = options.known_leases,
                    .clock = options.clock},
                   "blocks"),
          options_(options) {}

    /// Runs `act(book, table)`.
    template <class Result, class Act>
    Result read(Act act) {
        LeaseBook book = BookFile::read();
        BlockTable table(book, options_.boot_id, now().boot);
        return act(book, table);
    }
    template <class Result, class Act>
    Result write(const base::Deadline& deadline, Act act) {
        return change_rows<Result>(IfAbsent::give_nothing, deadline, act);
    }
    template <class Result, class Act>
    Result make(const base::Deadline& deadline, Act act) {
        return change_rows<Result>(IfAbsent::make, deadline, act);
    }

    [[nodiscard]] Time now() const { return options_.clock(); }

private:
    template <class Result, class Act>
    Result change_rows(IfAbsent if_absent, const base::Deadline& deadline, Act act) {
        return change<Result>(if_absent, deadline, [&](LeaseBook& book) {
            if (book.file_id.empty()) {
                book.file_id = new_file_id(options_.state_directory);
                if (if_absent == IfAbsent::make) book.note_change();
            }
            BlockTable table(book, options_.boot_id, now().boot);
            return act(book, table);
        });
    }

    Options options_;
};

namespace {

Leases note(Leases released, BlockTable& table) {
    for (const Lease& lease : released) table.note_release(lease.space, lease.address.address());
    return released;
}

} // namespace

BlockFile::BlockFile(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
BlockFile::~BlockFile() = default;

ReserveOutcome BlockFile::reserve(const Owner& owner, const std::vector<Claim>& claims,
                                  const base::Deadline& deadline) {
    return impl_->make<ReserveOutcome>(deadline, [&](LeaseBook& book, BlockTable& table) -> ReserveOutcome {
        const Leases held = book.find_by_owner(owner.key);
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
        return book.reserve(owner, narrowed);
    });
}

Leases BlockFile::release(const OwnerKey& key, const base::Deadline& deadline) {
    return impl_->write<Leases>(deadline, [&](LeaseBook& book, BlockTable& table) {
        return note(book.release(book.find_by_owner(key)), table);
    });
}

Leases BlockFile::withdraw(const OwnerKey& key, const Leases& unused, const base::Deadline& deadline) {
    return impl_->write<Leases>(deadline, [&](LeaseBook& book, BlockTable& table) {
        return note(book.release(book.find_by_owner(key), unused), table);
    });
}

Leases BlockFile::reclaim(const Leases& leases, const base::Deadline& deadline) {
    return impl_->write<Leases>(deadline,
                                [&](LeaseBook& book, BlockTable& table) { return note(book.release(leases), table); });
}

/// Addresses of a lost block have no heirs: another node may have given them.
Leases BlockFile::adopt(const Leases& leases, const Owner& heir, const base::Deadline& deadline) {
    return impl_->write<Leases>(deadline, [&](LeaseBook& book, BlockTable& table) {
        Leases kept = leases;
        std::erase_if(kept, [lost = table.lost()](const Lease& lease) { return is_in_one_of(lost, lease); });
        return book.adopt(kept, heir);
    });
}

std::vector<Regained> BlockFile::regain(const Leases& leases, const base::Deadline& deadline) {
    using All = std::vector<Regained>;
    return impl_->make<All>(deadline, [&](LeaseBook& book, BlockTable& table) {
        All all;
        for (const Lease& lease : leases) {
            const bool is_open = table.is_open(lease.space, lease.address.address());
            all.push_back(is_open ? book.regain(lease)
                                  : Regained{.lease = lease, .refused = "it is in no open block of this node"});
        }
        return all;
    });
}

Leases BlockFile::find(const OwnerKey& key, const base::Deadline& /*deadline*/) {
    return impl_->read<Leases>([&](LeaseBook& book, BlockTable&) { return book.find_by_owner(key); });
}

Leases BlockFile::find_predecessors(const Owner& owner, const base::Deadline& /*deadline*/) {
    return impl_->read<Leases>([&](LeaseBook& book, BlockTable&) { return book.find_by_pod(owner); });
}

Leases BlockFile::list(const Claim& claim, const std::optional<base::IpAddress>& after, std::size_t most,
                       const base::Deadline& /*deadline*/) {
    return impl_->read<Leases>([&](LeaseBook& book, BlockTable&) { return book.list(claim, after, most); });
}

Leases BlockFile::list_all(const base::Deadline& /*deadline*/) {
    return impl_->read<Leases>([&](LeaseBook& book, BlockTable&) { return book.leases(); });
}

bool BlockFile::has_free(const Claim& claim, const base::Deadline& /*deadline*/) {
    return impl_->read<bool>([&](LeaseBook& book, BlockTable& table) {
        Claim narrowed = claim;
        narrowed.usable = table.open_part(claim);
        return book.has_free(narrowed);
    });
}

Usage BlockFile::usage(const Claim& claim, const base::Deadline& /*deadline*/) {
    return impl_->read<Usage>([&](LeaseBook& book, BlockTable&) { return book.usage(claim); });
}

std::vector<Rival> BlockFile::find_rivals(const base::Deadline& /*deadline*/) {
    return impl_->read<std::vector<Rival>>([&](LeaseBook&, BlockTable& table) {
        std::vector<Rival> rivals;
        for (const Block& block : table.lost())
            rivals.push_back({.space = block.space, .addresses = block.prefix, .holder = block.holder});
        return rivals;
    });
}

std::string BlockFile::id(const base::Deadline& deadline) {
    return impl_->make<std::string>(deadline, [](LeaseBook& book, BlockTable&) { return book.file_id; });
}

std::vector<BlockRange> BlockFile::ranges(const base::Deadline& /*deadline*/) {
    return impl_->read<std::vector<BlockRange>>([](LeaseBook&, BlockTable& table) { return table.ranges(); });
}

void BlockFile::put_range(const BlockRange& range, const base::Deadline& deadline) {
    impl_->make<bool>(deadline, [&](LeaseBook&, BlockTable& table) { return table.put_range(range), true; });
}

void BlockFile::forget_range(const BlockRange& range, const base::Deadline& deadline) {
    impl_->write<bool>(deadline, [&](LeaseBook&, BlockTable& table) { return table.forget_range(range), true; });
}

bool BlockFile::has_looked(const std::string& kubeconfig, const std::string& node_name,
                           const base::Deadline& /*deadline*/) {
    return impl_->read<bool>([&](LeaseBook&, BlockTable& table) { return table.has_looked(kubeconfig, node_name); });
}

void BlockFile::set_looked(const std::string& kubeconfig, const std::string& node_name,
                           const base::Deadline& deadline) {
    impl_->write<bool>(deadline, [&](LeaseBook&, BlockTable& table) {
        table.set_looked(kubeconfig, node_name);
        return true;
    });
}

void BlockFile::set_full(const Claim& claim, const base::Deadline& deadline) {
    impl_->make<bool>(deadline, [&](LeaseBook&, BlockTable& table) { return table.set_full(claim), true; });
}

bool BlockFile::is_full(const Claim& claim, std::chrono::seconds within, const base::Deadline& /*deadline*/) {
    return impl_->read<bool>([&](LeaseBook&, BlockTable& table) { return table.is_full(claim, within.count()); });
}

std::vector<Block> BlockFile::blocks(const base::Deadline& /*deadline*/) {
    return impl_->read<std::vector<Block>>([](LeaseBook&, BlockTable& table) { return table.blocks(); });
}

void BlockFile::add(const Block& block, const base::Deadline& deadline) {
    impl_->make<bool>(deadline, [&](LeaseBook&, BlockTable& table) { return table.add(block), true; });
}

void BlockFile::open(const Block& block, const base::Deadline& deadline) {
    impl_->make<bool>(deadline, [&](LeaseBook&, BlockTable& table) { return table.open(block), true; });
}

void BlockFile::set_written(const Block& block, const base::Deadline& deadline) {
    impl_->make<bool>(deadline, [&](LeaseBook&, BlockTable& table) { return table.set_written(block), true; });
}

void BlockFile::lose(const Block& block, const std::string& holder, const base::Deadline& deadline) {
    impl_->write<bool>(deadline, [&](LeaseBook&, BlockTable& table) { return table.lose(block, holder), true; });
}

void BlockFile::remove(const Block& block, const base::Deadline& deadline) {
    impl_->write<bool>(deadline, [&](LeaseBook& book, BlockTable& table) {
        if (!table.remove(block)) return false;
        book.forget_resting(block.space, block.prefix);
        return true;
    });
}

bool BlockFile::close_idle(std::chrono::seconds idle, const base::Deadline& deadline) {
    return impl_->write<bool>(deadline, [&](LeaseBook&, BlockTable& table) { return table.close_idle(idle.count()); });
}

void BlockFile::close_empty(const BlockRange& range, const base::Deadline& deadline) {
    impl_->write<bool>(deadline, [&](LeaseBook&, BlockTable& table) { return table.close_empty(range), true; });
}

void BlockFile::close_abandoned(const base::Deadline& deadline) {
    impl_->write<bool>(deadline, [&](LeaseBook&, BlockTable& table) { return table.close_abandoned(), true; });
}

Time BlockFile::now() const {
    return impl_->now();
}

std::optional<std::string> BlockFile::repair(const base::Deadline& deadline) {
    return impl_->repair(deadline);
}

bool BlockFile::is_there() const {
    return impl_->is_there();
}

const std::string& BlockFile::path() const {
    return impl_->path();
}

} // namespace rdmanet::ipam
