#include <rdmanet/ipam/store/block_file.hpp>

#include "book_file.hpp"

#include <algorithm>
#include <utility>

namespace rdmanet::ipam {

using Leases = std::vector<Lease>;
using IfAbsent = BookFile::IfAbsent;

class BlockFile::Impl : public BookFile {
public:
    explicit Impl(Options options)
        : BookFile({.state_directory = std::move(options.state_directory),
                    .known_leases = std::move(options.known_leases),
                    .clock = options.clock},
                   "blocks"),
          boot_id_(std::move(options.boot_id)), clock_(std::move(options.clock)) {}

    [[nodiscard]] Time now() const { return clock_(); }
    [[nodiscard]] BlockRows rows_of(LeaseBook& book) const { return {book, boot_id_, now()}; }

    /// Runs `act(book, rows)` as BookFile::change() does.
    template <class Result, class Act>
    Result change_rows(IfAbsent if_absent, const base::Deadline& deadline, Act act) {
        return change<Result>(if_absent, deadline, [&](LeaseBook& book) {
            BlockRows rows = rows_of(book);
            return act(book, rows);
        });
    }
    template <class Act>
    auto read_rows(Act act) {
        LeaseBook book = read();
        return act(rows_of(book));
    }

private:
    std::string boot_id_;
    std::function<Time()> clock_;
};

namespace {

Leases note(Leases released, BlockRows& rows) {
    for (const Lease& lease : released) rows.note_release(lease.space, lease.address.address());
    return released;
}

} // namespace

BlockFile::BlockFile(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
BlockFile::~BlockFile() = default;

ReserveOutcome BlockFile::reserve(const Owner& owner, const std::vector<Claim>& claims, Trust trust,
                                  const base::Deadline& deadline) {
    return impl_->change_rows<ReserveOutcome>(
        IfAbsent::make, deadline, [&](LeaseBook& book, BlockRows& rows) -> ReserveOutcome {
            const Leases held = book.find_by_owner(owner.key);
            std::vector<Claim> narrowed = claims;
            for (std::size_t slot = 0; slot < claims.size(); ++slot) {
                if (std::ranges::any_of(held, [&](const Lease& one) { return one.slot == slot; })) continue;
                Claim& claim = narrowed[slot];
                if (claim.wanted) {
                    if (!rows.is_open(claim.space, *claim.wanted, trust)) return Exhausted{slot};
                } else if (claim.usable = rows.open_part(claim, trust); claim.usable.empty()) {
                    return Exhausted{slot};
                }
            }
            return book.reserve(owner, narrowed);
        });
}

Leases BlockFile::withdraw(const OwnerKey& key, const Leases& unused, const base::Deadline& deadline) {
    return impl_->change_rows<Leases>(IfAbsent::give_nothing, deadline, [&](LeaseBook& book, BlockRows& rows) {
        return note(book.release(book.find_by_owner(key), unused), rows);
    });
}

Leases BlockFile::reclaim(const Leases& leases, const base::Deadline& deadline) {
    return impl_->change_rows<Leases>(IfAbsent::give_nothing, deadline, [&](LeaseBook& book, BlockRows& rows) {
        return note(book.release(leases), rows);
    });
}

Leases BlockFile::adopt(const Leases& leases, const Owner& heir, const base::Deadline& deadline) {
    return impl_->change_rows<Leases>(IfAbsent::give_nothing, deadline, [&](LeaseBook& book, BlockRows& rows) {
        const std::vector<Block> blocks = rows.blocks();
        Leases kept = leases;
        std::erase_if(kept, [&](const Lease& lease) {
            return std::ranges::any_of(blocks, [&](const Block& block) {
                return block.state == BlockState::lost && block.space == lease.space &&
                       block.prefix.contains(lease.address.address());
            });
        });
        return book.adopt(kept, heir);
    });
}

std::vector<Regained> BlockFile::regain(const Leases& leases, const base::Deadline& deadline) {
    return impl_->change_rows<std::vector<Regained>>(IfAbsent::make, deadline, [&](LeaseBook& book, BlockRows& rows) {
        std::vector<Regained> all;
        for (const Lease& lease : leases)
            all.push_back(rows.is_open(lease.space, lease.address.address(), Trust::lasting)
                              ? book.regain(lease)
                              : Regained{.lease = lease, .refused = "it is in no open block of this node"});
        return all;
    });
}

Leases BlockFile::find(const OwnerKey& key) {
    return impl_->read().find_by_owner(key);
}

Leases BlockFile::find_predecessors(const Owner& owner) {
    return impl_->read().find_by_pod(owner);
}

Leases BlockFile::list(const Claim& claim, const std::optional<base::IpAddress>& after, std::size_t most) {
    return impl_->read().list(claim, after, most);
}

Leases BlockFile::list_all() {
    return impl_->read().leases();
}

bool BlockFile::has_free(const Claim& claim) {
    LeaseBook book = impl_->read();
    Claim narrowed = claim;
    narrowed.usable = impl_->rows_of(book).open_part(claim, Trust::lasting);
    return book.has_free(narrowed);
}

Usage BlockFile::usage(const Claim& claim) {
    return impl_->read().usage(claim);
}

std::vector<Rival> BlockFile::find_rivals() {
    return impl_->read_rows([](const BlockRows& rows) {
        std::vector<Rival> rivals;
        for (const Block& block : rows.blocks())
            if (block.state == BlockState::lost)
                rivals.push_back({.space = block.space, .addresses = block.prefix, .holder = block.holder});
        return rivals;
    });
}

void BlockFile::tidy(const base::Deadline& deadline) {
    impl_->tidy(deadline);
}

bool BlockFile::is_there() const {
    return impl_->is_there();
}

std::vector<BlockRange> BlockFile::ranges() {
    return impl_->read_rows([](const BlockRows& rows) { return rows.ranges(); });
}

std::vector<Block> BlockFile::blocks() {
    return impl_->read_rows([](const BlockRows& rows) { return rows.blocks(); });
}

void BlockFile::change(const base::Deadline& deadline, const std::function<void(BlockRows&)>& act) {
    impl_->change_rows<bool>(IfAbsent::make, deadline, [&](LeaseBook&, BlockRows& rows) { return act(rows), true; });
}

Time BlockFile::now() const {
    return impl_->now();
}

std::optional<std::string> BlockFile::repair(const base::Deadline& deadline) {
    return impl_->repair(deadline);
}

const std::string& BlockFile::path() const {
    return impl_->path();
}

} // namespace rdmanet::ipam
