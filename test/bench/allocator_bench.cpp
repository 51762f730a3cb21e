// How long the node's own store takes to give one address, and to release it, with few and with many leases.
// Usage: allocator_bench [LEASES ...]; the default is 10, 250 and 2500.
#include <rdmanet/ipam/store/lease_file.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace rdmanet;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr int kRounds = 2000;
constexpr base::Uint128 kFirst = base::Uint128{10} << 24U; // 10.0.0.0

ipam::Owner owner(const std::string& container) {
    return {.key = {.network = "rdma-net", .container_id = container, .ifname = "net1"},
            .pod_namespace = "default",
            .pod_name = fmt::format("pod-{}", container),
            .pod_uid = fmt::format("uid-{}", container),
            .netns_path = "/run/netns/x",
            .netns_cookie = 4,
            .pid_view = 4026531836U,
            .boot_id = "boot"};
}

ipam::Claim claim() {
    return {.space = "",
            .family = base::Family::v4,
            .prefix_length = 8,
            .usable = {{kFirst + 1, kFirst + 0xfffffe}},
            .wanted = std::nullopt,
            .cooldown = std::chrono::seconds(0)};
}

/// Leases every address from 10.0.0.1 on, except `hole` in the middle.
void fill(const std::string& directory, std::uint32_t leases, base::Uint128 hole, const base::Deadline& deadline) {
    std::vector<ipam::Lease> known;
    known.reserve(leases);
    for (std::uint32_t number = 0; number <= leases; ++number) {
        const base::Uint128 value = kFirst + 1 + number;
        if (value == hole) continue;
        known.push_back({.space = "",
                         .slot = 0,
                         .address = *base::IpPrefix::make({base::Family::v4, value}, 8),
                         .owner = owner(fmt::format("c{}", number)),
                         .since = 0,
                         .cooldown = std::chrono::seconds(0)});
    }
    ipam::LeaseFile file({.state_directory = directory, .known_leases = [&] { return known; }});
    (void)file.reserve(owner("first"), {claim()}, deadline);
    (void)file.release(owner("first").key, deadline);
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

/// Each call uses its own store, as in the plugin: open, one transaction, close.
template <class Act>
double microseconds_of(const std::string& directory, Act act) {
    const auto begin = std::chrono::steady_clock::now();
    {
        ipam::LeaseFile store({.state_directory = directory, .known_leases = {}});
        act(store);
    }
    return Microseconds(std::chrono::steady_clock::now() - begin).count();
}

void measure(const std::string& directory, std::uint32_t leases) {
    const base::Deadline deadline = base::Deadline::in(std::chrono::minutes(10));
    fill(directory, leases, kFirst + 1 + leases / 2, deadline);
    std::vector<double> reserve;
    std::vector<double> release;
    for (int round = 0; round < kRounds; ++round) {
        const ipam::Owner who = owner(fmt::format("new{}", round));
        reserve.push_back(microseconds_of(directory, [&](auto& store) {
            if (!std::holds_alternative<ipam::Granted>(store.reserve(who, {claim()}, deadline))) std::abort();
        }));
        release.push_back(microseconds_of(directory, [&](auto& store) {
            if (store.release(who.key, deadline).size() != 1) std::abort();
        }));
    }
    std::printf("%8u leases: open + reserve + close %6.1f us, open + release + close %6.1f us\n", leases,
                median(reserve), median(release));
}

} // namespace

int main(int argc, char** argv) {
    std::vector<std::uint32_t> sizes;
    for (int at = 1; at < argc; ++at) sizes.push_back(base::parse_integer<std::uint32_t>(argv[at]).value());
    if (sizes.empty()) sizes = {10, 250, 2500};
    for (const std::uint32_t leases : sizes) {
        std::string directory = std::filesystem::exists("/dev/shm") ? "/dev/shm/bench-XXXXXX" : "/tmp/bench-XXXXXX";
        if (::mkdtemp(directory.data()) == nullptr) return 1;
        measure(directory, leases);
        std::filesystem::remove_all(directory);
    }
    return 0;
}
