#include <rdmanet/ipam/store/lease_file.hpp>

#include "book_file.hpp"

#include <ctime>
#include <utility>

namespace rdmanet::ipam {

Time system_time() {
    timespec boot{};
    timespec epoch{};
    (void)::clock_gettime(CLOCK_BOOTTIME, &boot);
    (void)::clock_gettime(CLOCK_REALTIME, &epoch);
    return {.boot = boot.tv_sec, .epoch = epoch.tv_sec};
}

using Leases = std::vector<Lease>;
using IfAbsent = BookFile::IfAbsent;

class LeaseFile::Impl : public BookFile {
public:
    explicit Impl(Options options) : BookFile(std::move(options), "leases") {}
};

LeaseFile::LeaseFile(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
LeaseFile::~LeaseFile() = default;

ReserveOutcome LeaseFile::reserve(const Owner& owner, const std::vector<Claim>& claims,
                                  const base::Deadline& deadline) {
    return impl_->change<ReserveOutcome>(IfAbsent::make, deadline,
                                         [&](LeaseBook& book) { return book.reserve(owner, claims); });
}

std::optional<Granted> LeaseFile::reserve_at_once(const Owner& owner, const std::vector<Claim>& claims,
                                                  const base::Deadline& deadline) {
    return impl_->change<std::optional<Granted>>(IfAbsent::make, deadline,
                                                 [&](LeaseBook& book) { return book.reserve_at_once(owner, claims); });
}

Leases LeaseFile::release(const OwnerKey& key, const base::Deadline& deadline) {
    return withdraw(key, {}, deadline);
}

Leases LeaseFile::withdraw(const OwnerKey& key, const Leases& unused, const base::Deadline& deadline) {
    return impl_->change<Leases>(IfAbsent::give_nothing, deadline,
                                 [&](LeaseBook& book) { return book.release(book.find_by_owner(key), unused); });
}

Leases LeaseFile::reclaim(const Leases& leases, const base::Deadline& deadline) {
    return impl_->change<Leases>(IfAbsent::give_nothing, deadline,
                                 [&](LeaseBook& book) { return book.release(leases); });
}

Leases LeaseFile::adopt(const Leases& leases, const Owner& heir, const base::Deadline& deadline) {
    return impl_->change<Leases>(IfAbsent::give_nothing, deadline,
                                 [&](LeaseBook& book) { return book.adopt(leases, heir); });
}

std::vector<Regained> LeaseFile::regain(const Leases& leases, const base::Deadline& deadline) {
    return impl_->change<std::vector<Regained>>(IfAbsent::make, deadline, [&](LeaseBook& book) {
        std::vector<Regained> all;
        for (const Lease& lease : leases) all.push_back(book.regain(lease));
        return all;
    });
}

Leases LeaseFile::find(const OwnerKey& key, const base::Deadline& /*deadline*/) {
    return impl_->read().find_by_owner(key);
}

Leases LeaseFile::find_predecessors(const Owner& owner, const base::Deadline& /*deadline*/) {
    return impl_->read().find_by_pod(owner);
}

Leases LeaseFile::list(const Claim& claim, const std::optional<base::IpAddress>& after, std::size_t most,
                       const base::Deadline& /*deadline*/) {
    return impl_->read().list(claim, after, most);
}

Leases LeaseFile::list_all(const base::Deadline& /*deadline*/) {
    return impl_->read().leases();
}

bool LeaseFile::has_free(const Claim& claim, const base::Deadline& /*deadline*/) {
    return impl_->read().has_free(claim);
}

Usage LeaseFile::usage(const Claim& claim, const base::Deadline& /*deadline*/) {
    return impl_->read().usage(claim);
}

std::optional<std::string> LeaseFile::repair(const base::Deadline& deadline) {
    return impl_->repair(deadline);
}

void LeaseFile::tidy(const base::Deadline& deadline) {
    impl_->tidy(deadline);
}

bool LeaseFile::is_there() const {
    return impl_->is_there();
}

const std::string& LeaseFile::path() const {
    return impl_->path();
}

} // namespace rdmanet::ipam
