// Random operations on the store and on a model: a map of addresses, too simple to be wrong.
#include "fixture.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <random>

using namespace rdmanet;
using namespace rdmanet::ipam;
using namespace rdmanet::ipam::test;

namespace {

struct Holder {
    std::string container;
    std::size_t slot = 0;
};
struct Resting {
    std::int64_t until = 0;
};

class Model {
public:
    std::string reserve(const std::string& container, const std::vector<Claim>& claims, std::int64_t now) {
        const Model before = *this;
        forget_rested(now);
        std::vector<std::optional<base::IpAddress>> given(claims.size());
        for (const auto& [address, holder] : held)
            if (holder.container == container && holder.slot < given.size()) given[holder.slot] = address;
        for (const bool wanted : {true, false})
            for (std::size_t slot = 0; slot < claims.size(); ++slot) {
                if (given[slot] || claims[slot].wanted.has_value() != wanted) continue;
                const std::string refusal = take(container, claims[slot], slot, given[slot]);
                if (refusal.empty()) continue;
                *this = before;
                return refusal;
            }
        std::string text;
        for (std::size_t slot = 0; slot < claims.size(); ++slot)
            text += (slot == 0 ? "" : " ") + given[slot]->to_string() + "/" + std::to_string(lengths[*given[slot]]);
        return text;
    }

    void release(const std::string& container, std::int64_t now) {
        for (auto at = held.begin(); at != held.end();) {
            if (at->second.container != container) {
                ++at;
                continue;
            }
            if (rests[at->first] > 0) resting[at->first] = Resting{now + rests[at->first]};
            at = held.erase(at);
        }
    }

    std::map<base::IpAddress, Holder> held;
    std::map<base::IpAddress, Resting> resting;

private:
    void forget_rested(std::int64_t now) {
        std::erase_if(resting, [&](const auto& entry) { return entry.second.until <= now; });
    }

    std::string take(const std::string& container, const Claim& claim, std::size_t slot,
                     std::optional<base::IpAddress>& given) {
        if (claim.wanted) {
            if (const auto other = held.find(*claim.wanted); other != held.end())
                return "taken by " + other->second.container;
            given = claim.wanted;
        } else {
            given = lowest_free(claim);
        }
        if (!given) return "exhausted";
        resting.erase(*given);
        held[*given] = Holder{container, slot};
        lengths[*given] = claim.prefix_length;
        rests[*given] = claim.cooldown.count();
        return "";
    }

    std::optional<base::IpAddress> lowest_free(const Claim& claim) const {
        std::optional<base::IpAddress> longest;
        for (const Interval& interval : claim.usable)
            for (base::Uint128 value = interval.first; value - interval.first <= interval.last - interval.first;
                 ++value) {
                const base::IpAddress address(claim.family, value);
                const auto rest = resting.find(address);
                if (held.count(address) == 0 && rest == resting.end()) return address;
                if (rest != resting.end() && (!longest || rest->second.until < resting.at(*longest).until))
                    longest = address;
                if (value == ~base::Uint128{0}) break;
            }
        return longest;
    }

    std::map<base::IpAddress, unsigned> lengths;
    std::map<base::IpAddress, std::int64_t> rests;
};

std::vector<Claim> all_claims() {
    const base::Uint128 ones = ~base::Uint128{0};
    return {resting(claim("10.0.0.0/29"), 0),
            resting(claim("10.0.0.0/28", {{ip("10.0.0.2").value(), ip("10.0.0.4").value()},
                                          {ip("10.0.0.9").value(), ip("10.0.0.11").value()}}),
                    3),
            resting(claim("::/0", {{0, 3}, {ones - 3, ones}}), 9), resting(claim("255.255.255.248/29"), 5),
            resting(wanting(claim("10.0.0.0/28"), "10.0.0.3"), 2)};
}

} // namespace

TEST_CASE_METHOD(StoreFixture, "the store behaves like a map of addresses") {
    const auto claims = all_claims();
    for (const unsigned seed : {1U, 2U, 3U}) {
        INFO("seed " << seed);
        std::mt19937 random(seed);
        const auto below = [&](std::size_t count) { return random() % count; };
        Model model;
        for (const Lease& old : store.list_all(soon())) (void)store.release(old.owner.key, soon());
        now.boot += 100'000; // no address rests from the run before
        for (int step = 0; step < 400; ++step) {
            const std::string container(1, static_cast<char>('a' + below(12)));
            now.boot += static_cast<std::int64_t>(below(3));
            if (below(3) == 0) {
                (void)release(owner(container));
                model.release(container, now.boot);
            } else {
                std::vector<Claim> asked{claims[below(claims.size())]};
                if (below(3) == 0) asked.push_back(claims[below(claims.size())]);
                REQUIRE(reserve(owner(container), asked) == model.reserve(container, asked, now.boot));
            }
            if (step % 20 == 0) REQUIRE(faults().empty());
        }
        REQUIRE(store.list_all(soon()).size() == model.held.size());
        REQUIRE(faults().empty());
    }
}
