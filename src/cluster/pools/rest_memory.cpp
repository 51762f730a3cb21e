#include "rest_memory.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/store.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::cluster {
namespace {

constexpr std::size_t kMostAddresses = 1024; // of one pool, which BootMemory takes

} // namespace

RestMemory::RestMemory(std::string state_directory, std::string boot_id, Clock clock)
    : directory_(std::move(state_directory)), boot_id_(std::move(boot_id)), clock_(std::move(clock)) {}

void RestMemory::note(const std::string& pool_uid, const GivenBack& given_back, const base::Deadline& deadline) const
    try {
    constexpr std::chrono::seconds kLockTimeout{1};
    if (directory_.empty() || pool_uid.empty() || given_back.empty()) return;
    const base::FileLock lock(directory_ + "/resting.lock", base::hash64(pool_uid), "the addresses that rest",
                              deadline.at_most(kLockTimeout));
    std::map<base::IpAddress, Rest> all = read(pool_uid);
    for (const auto& [address, whose] : given_back) all.insert_or_assign(address, Rest{clock_(), whose});
    std::multimap<std::int64_t, base::IpAddress, std::greater<>> latest;
    for (const auto& [address, rest] : all) latest.emplace(rest.since, address);
    std::string text;
    std::size_t written = 0;
    for (const auto& [since, address] : latest)
        if (written++ < kMostAddresses) text += fmt::format("{} {} {}\n", address, since, all.at(address).whose);
    memory_of(pool_uid).note(text);
} catch (const base::Error&) { // they don't rest
}

RestMemory::Remembered RestMemory::find(const std::string& pool_uid, std::chrono::seconds cooldown,
                                        std::uint64_t whose) const {
    Remembered found;
    if (directory_.empty() || pool_uid.empty()) return found;
    const std::int64_t now = clock_();
    for (const auto& [address, rest] : read(pool_uid)) {
        const auto rests_for = rest.whose == 0 ? std::max(cooldown, ipam::kForeignRest) : cooldown;
        const std::chrono::seconds age(now - rest.since);
        if (age.count() < 0 || rests_for.count() == 0) continue;
        if (age < rests_for) found.resting.emplace(address, rest.since);
        if (whose != 0 && rest.whose == whose && age < rests_for + ipam::kRemembered) found.own.push_back(address);
    }
    return found;
}

base::BootMemory RestMemory::memory_of(const std::string& pool_uid) const {
    return {directory_, boot_id_, "resting", pool_uid};
}

std::map<base::IpAddress, RestMemory::Rest> RestMemory::read(const std::string& pool_uid) const {
    std::map<base::IpAddress, Rest> all;
    const std::string text = memory_of(pool_uid).find().value_or("");
    for (std::string_view left = text; !left.empty();) {
        std::string_view line = left.substr(0, left.find('\n'));
        left.remove_prefix(std::min(line.size() + 1, left.size()));
        const auto take = [&line] {
            const std::string_view word = line.substr(0, line.find(' '));
            line.remove_prefix(std::min(word.size() + 1, line.size()));
            return word;
        };
        const auto address = base::IpAddress::parse(take());
        const auto since = base::parse_integer<std::int64_t>(take());
        const auto whose = base::parse_integer<std::uint64_t>(take());
        if (address && since && whose) all.insert_or_assign(*address, Rest{*since, *whose});
    }
    return all;
}

} // namespace rdmanet::cluster
