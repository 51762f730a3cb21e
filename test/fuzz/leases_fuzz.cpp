// After any operations a lease store behaves like a map from addresses to holders (lease_model.hpp), also after a
// restart, and its file is sound.
//
// Input: operations of four bytes each: operation, owner, argument, seconds that pass before it.
#include "demand.hpp"
#include "lease_model.hpp"
#include "lease_store.hpp"

#include <memory>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

constexpr std::size_t kMostOperations = 32;
constexpr unsigned kContainers = 10;
constexpr unsigned kPods = 4;

ipam::Claim in_space(ipam::Claim claim, std::string space) {
    claim.space = std::move(space);
    return claim;
}
ipam::Claim wanting(ipam::Claim claim, std::string_view address) {
    claim.wanted = base::IpAddress::parse(address);
    return claim;
}

/// Ranges that overlap, are in the other family or space, or end at the highest address.
const std::vector<std::vector<ipam::Claim>>& claim_sets() {
    static const ipam::Claim small = claim("10.0.0.0/29", {{1, 4}}, 0);
    static const ipam::Claim split = claim("10.0.0.0/28", {{2, 3}, {6, 8}}, 3);
    static const ipam::Claim wide = claim("fd00::/64", {{1, 6}}, 30);
    static const ipam::Claim top = claim("255.255.255.248/29", {{5, 7}}, 5);
    static const ipam::Claim highest = claim("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff8/125", {{4, 7}}, 9);
    static const std::vector<std::vector<ipam::Claim>> sets{{small},
                                                            {split},
                                                            {small, wide},
                                                            {top},
                                                            {highest, split},
                                                            {in_space(small, "blue")},
                                                            {wanting(split, "10.0.0.3")},
                                                            {small, wanting(split, "10.0.0.2")},
                                                            {wanting(small, "10.0.0.2"), wanting(split, "10.0.0.2")}};
    return sets;
}

class Run {
public:
    explicit Run(const std::string& directory) : directory_(directory) { restart(); }

    void operate(const unsigned char* input) {
        now_.boot += input[3] % 16;
        const ipam::Owner who = holder(input[1]);
        switch (input[0] % 8) {
        case 0:
        case 1:
        case 2: reserve(who, claim_sets()[input[2] % claim_sets().size()]); break;
        case 3: model_.release(who.key, store_->release(who.key, soon()), now_.boot); break;
        case 4: reclaim(input[2]); break;
        case 5: adopt(input[2], who); break;
        case 6: restore(who, input[2]); break;
        case 7: restart(); break;
        }
        check(claim_sets()[input[2] % claim_sets().size()].front(), who);
    }

    void check_file() { demand(store_->verify(soon()).empty(), "the file has faults"); }

private:
    static ipam::Owner holder(unsigned char byte) {
        const unsigned number = byte % kContainers;
        return owner(number, "pod-" + std::to_string(number % kPods));
    }

    void restart() {
        store_ = std::make_unique<ipam::LeaseFile>(ipam::LeaseFile::Options{
            .state_directory = directory_, .known_leases = {}, .clock = [this] { return now_; }});
    }

    void reserve(const ipam::Owner& who, const std::vector<ipam::Claim>& claims) {
        model_.reserve(who, claims, store_->reserve(who, claims, soon()), now_.boot);
    }

    /// Some of the present or former leases.
    std::vector<ipam::Lease> some(unsigned char which) {
        const std::vector<ipam::Lease> all = store_->list_all(soon());
        std::vector<ipam::Lease> chosen;
        for (std::size_t at = 0; at < all.size(); ++at)
            if ((which >> (at % 8) & 1U) != 0) chosen.push_back(all[at]);
        if (which % 4 == 0) chosen.insert(chosen.end(), seen_.begin(), seen_.end());
        if (!all.empty()) seen_.assign(1, all[which % all.size()]);
        return chosen;
    }

    void reclaim(unsigned char which) {
        const auto asked = some(which);
        model_.reclaim(asked, store_->reclaim(asked, soon()), now_.boot);
    }

    void adopt(unsigned char which, const ipam::Owner& successor) {
        const auto asked = some(which);
        model_.adopt(asked, successor, store_->adopt(asked, successor, soon()));
    }

    void restore(const ipam::Owner& who, unsigned char which) {
        std::vector<ipam::Lease> leases = some(which);
        leases.push_back({.slot = which % 3U,
                          .address = base::IpPrefix::make({base::Family::v4, 0x0a000000U + which % 16U}, 28).value(),
                          .owner = who,
                          .since = now_.epoch,
                          .cooldown = std::chrono::seconds(which % 4)});
        model_.restore(leases, store_->restore(leases, soon()));
    }

    void check(const ipam::Claim& claim, const ipam::Owner& who) {
        demand(store_->list_all(soon()) == model_.list_all(), "lists something else than was given");
        demand(store_->find(who.key, soon()) == model_.find(who.key), "finds something else than the owner holds");
        const ipam::Usage counted = store_->usage(claim, soon());
        const ipam::Usage expected = model_.usage(claim, now_.boot);
        demand(counted.leases == expected.leases && counted.cooling == expected.cooling, "counts wrong");
    }

    std::string directory_;
    ipam::Time now_{.boot = 1000, .epoch = 1'700'000'000};
    std::unique_ptr<ipam::LeaseFile> store_;
    LeaseModel model_;
    std::vector<ipam::Lease> seen_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    static const test::Directory directory;
    clear(directory);
    Run run(directory.path());
    for (std::size_t at = 0; at + 4 <= size && at < 4 * kMostOperations; at += 4) run.operate(data + at);
    run.check_file();
    return 0;
}
