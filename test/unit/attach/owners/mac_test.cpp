#include "owners/mac.hpp"

#include <catch2/catch.hpp>

#include <set>

using rdmanet::attach::derive_mac;
using rdmanet::state::AttachmentKey;

namespace {

const AttachmentKey kKey{.network = "roce", .container_id = "c0ffee", .ifname = "net1"};
const char* const kBoot = "5f0c2f6e-8f1d-4f0e-9a53-000000000001";

} // namespace

TEST_CASE("a derived MAC address stays the attachment's as long as the node runs") {
    CHECK(derive_mac(kBoot, kKey) == derive_mac(kBoot, kKey));
    // CHECK and DEL of another version of the binary must derive the same address.
    CHECK(derive_mac(kBoot, kKey).to_string() == "22:ce:99:d2:f6:8b");
}

TEST_CASE("every part of the key and the boot changes the derived MAC address") {
    std::set<std::string> macs = {derive_mac(kBoot, kKey).to_string()};
    for (AttachmentKey key : {AttachmentKey{"roce2", "c0ffee", "net1"}, AttachmentKey{"roce", "c0ffef", "net1"},
                              AttachmentKey{"roce", "c0ffee", "net2"}})
        macs.insert(derive_mac(kBoot, key).to_string());
    macs.insert(derive_mac("5f0c2f6e-8f1d-4f0e-9a53-000000000002", kKey).to_string());
    CHECK(macs.size() == 5);
}

TEST_CASE("derived MAC addresses are unicast and locally administered, and spread over all other bits") {
    std::set<std::string> macs;
    unsigned ones[48] = {};
    constexpr unsigned kCount = 4096;
    for (unsigned number = 0; number < kCount; ++number) {
        const auto mac = derive_mac(kBoot, {"roce", "container-" + std::to_string(number), "net1"});
        macs.insert(mac.to_string());
        CHECK((mac.bytes()[0] & 3U) == 2U);
        for (unsigned bit = 0; bit < 48; ++bit) ones[bit] += (unsigned{mac.bytes()[bit / 8]} >> (bit % 8)) & 1U;
    }
    CHECK(macs.size() == kCount);
    for (unsigned bit = 2; bit < 48; ++bit) {
        CHECK(ones[bit] > kCount * 4 / 10);
        CHECK(ones[bit] < kCount * 6 / 10);
    }
}
