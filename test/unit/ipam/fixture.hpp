// The tests of this module share a store with its own clock, and short ways to write values.
#pragma once

#include "support/directory.hpp"

#include <rdmanet/ipam/allocator.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/store/lease_file.hpp>
#include <rdmanet/json/reader.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::ipam::test {

/// In memory, where that is possible.
struct TemporaryDirectory : rdmanet::test::Directory {
    TemporaryDirectory() : Directory(std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp") {}
};

inline base::Deadline soon() {
    return base::Deadline::in(std::chrono::seconds(20));
}
inline base::Deadline passed() {
    return base::Deadline::in(std::chrono::milliseconds(0));
}

inline base::IpAddress ip(std::string_view text) {
    return base::IpAddress::parse(text).value();
}
inline base::IpPrefix prefix(std::string_view text) {
    return base::IpPrefix::parse(text).value();
}

/// Where the node of the tests has its "/".
inline const TemporaryDirectory& node_root() {
    static const TemporaryDirectory root;
    return root;
}

inline Config config(std::string_view ipam) {
    return parse_config(json::Document::parse(ipam).root(), node_root().path());
}

inline Owner owner(const std::string& container, const std::string& pod_uid = "", const std::string& ifname = "net1") {
    return {.key = {.network = "net", .container_id = container, .ifname = ifname},
            .pod_namespace = pod_uid.empty() ? "" : "default",
            .pod_name = pod_uid.empty() ? "" : "pod-" + pod_uid,
            .pod_uid = pod_uid,
            .netns_path = "/run/netns/" + container,
            .netns_cookie = 4,
            .netns_inode = 0xffff'ffff'0000'0001U,
            .pid_view = 4026531836U,
            .boot_id = "boot"};
}

inline Claim claim(std::string_view subnet, std::vector<Interval> usable = {}) {
    const base::IpPrefix p = prefix(subnet);
    if (usable.empty()) usable.push_back(bounds_of(p, Edges::handed_out));
    return {.space = "",
            .family = p.family(),
            .prefix_length = p.length(),
            .usable = std::move(usable),
            .wanted = std::nullopt,
            .cooldown = std::chrono::seconds(0)};
}
inline Claim resting(Claim claim, int seconds) {
    claim.cooldown = std::chrono::seconds(seconds);
    return claim;
}
inline Claim wanting(Claim claim, std::string_view address) {
    claim.wanted = ip(address);
    return claim;
}

/// The addresses as text, "10.0.0.1/24 fd00::1/64".
inline std::string text_of(const std::vector<Lease>& leases) {
    std::string text;
    for (const Lease& lease : leases) text += (text.empty() ? "" : " ") + lease.address.to_string();
    return text;
}
inline std::string text_of(const ReserveOutcome& outcome) {
    if (const auto* granted = std::get_if<Granted>(&outcome)) return text_of(granted->leases);
    if (const auto* taken = std::get_if<Taken>(&outcome)) return "taken by " + taken->holder.owner.key.container_id;
    return "exhausted";
}

class StoreFixture {
public:
    StoreFixture() : store(options()) {}

    [[nodiscard]] LeaseFile::Options options() {
        return {.state_directory = directory.path(), .known_leases = {}, .clock = [this] { return now; }};
    }
    [[nodiscard]] std::string reserve(const Owner& who, const std::vector<Claim>& claims) {
        return text_of(store.reserve(who, claims, soon()));
    }
    [[nodiscard]] std::string release(const Owner& who) { return text_of(store.release(who.key, soon())); }
    /// What is wrong with the file; empty: nothing.
    [[nodiscard]] std::string faults() try {
        (void)store.list_all(soon());
        return {};
    } catch (const DamagedStore& damage) {
        return damage.what();
    }

    Time now{.boot = 1000, .epoch = 1'700'000'000};
    TemporaryDirectory directory;
    LeaseFile store;
};

/// As StoreFixture, but the file must be sound at the end.
class SoundStore : public StoreFixture {
public:
    ~SoundStore() {
        if (std::uncaught_exceptions() == 0) CHECK(faults() == "");
    }
};

} // namespace rdmanet::ipam::test
