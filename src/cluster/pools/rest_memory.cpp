#include "rest_memory.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::cluster {
namespace {

constexpr std::size_t kMostAddresses = 1024; // of one pool, which BootMemory takes

} // namespace

RestMemory::RestMemory(std::string state_directory, std::string boot_id, Clock clock)
    : directory_(std::move(state_directory)), boot_id_(std::move(boot_id)), clock_(std::move(clock)) {}

void RestMemory::note(const std::string& pool_uid, const std::vector<base::IpAddress>& given_back,
                      const base::Deadline& deadline) const try {
    constexpr std::chrono::seconds kLockTimeout{1};
    if (directory_.empty() || pool_uid.empty() || given_back.empty()) return;
    const base::FileLock lock(directory_ + "/resting.lock", base::hash64(pool_uid), "the addresses that rest",
                              deadline.at_most(kLockTimeout));
    std::map<base::IpAddress, std::int64_t> all = read(pool_uid);
    for (const base::IpAddress& address : given_back) all.insert_or_assign(address, clock_());
    std::multimap<std::int64_t, base::IpAddress, std::greater<>> latest;
    for (const auto& [address, since] : all) latest.emplace(since, address);
    std::string text;
    std::size_t written = 0;
    for (const auto& [since, address] : latest)
        if (written++ < kMostAddresses) text += fmt::format("{} {}\n", address, since);
    memory_of(pool_uid).note(text);
} catch (const base::Error&) { // they don't rest
}

std::map<base::IpAddress, std::int64_t> RestMemory::resting(const std::string& pool_uid,
                                                            std::chrono::seconds cooldown) const {
    if (directory_.empty() || pool_uid.empty() || cooldown.count() == 0) return {};
    auto all = read(pool_uid);
    const std::int64_t now = clock_();
    std::erase_if(all, [&](const auto& one) { return one.second > now || now - one.second >= cooldown.count(); });
    return all;
}

base::BootMemory RestMemory::memory_of(const std::string& pool_uid) const {
    return {directory_, boot_id_, "resting", pool_uid};
}

std::map<base::IpAddress, std::int64_t> RestMemory::read(const std::string& pool_uid) const {
    std::map<base::IpAddress, std::int64_t> all;
    const std::string text = memory_of(pool_uid).find().value_or("");
    for (std::string_view left = text; !left.empty();) {
        const std::string_view line = left.substr(0, left.find('\n'));
        left.remove_prefix(std::min(line.size() + 1, left.size()));
        const auto space = line.find(' ');
        if (space == std::string_view::npos) continue;
        const auto address = base::IpAddress::parse(line.substr(0, space));
        const auto since = base::parse_integer<std::int64_t>(line.substr(space + 1));
        if (address && since) all.insert_or_assign(*address, *since);
    }
    return all;
}

} // namespace rdmanet::cluster
