// Files that are truncated, overwritten or foreign. The store loads or reports them, and repairs them.
#include "fixture.hpp"
#include "store/directory_lock.hpp"
#include "store/lease_book.hpp"

#include "support/names.hpp"
#include "support/patience.hpp"

#include <catch2/catch.hpp>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <thread>

using namespace rdmanet;
using namespace rdmanet::ipam;
using namespace rdmanet::ipam::test;
using Catch::Matchers::Contains;
using rdmanet::test::Names;

namespace {

std::string content_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
void write(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

/// How many descriptors this process has of the file.
std::size_t count_open(const std::string& path) {
    std::size_t count = 0;
    for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code is_closed;
        count += std::filesystem::read_symlink(fd.path(), is_closed) == path ? 1U : 0U;
    }
    return count;
}

class DamageFixture : public StoreFixture {
public:
    DamageFixture() {
        LeaseFile filled(options());
        for (int number = 0; number < 40; ++number)
            (void)filled.reserve(owner("c" + std::to_string(number), "uid" + std::to_string(number)),
                                 {claim("10.0.0.0/24"), claim("fd00::/64")}, soon());
        for (int number = 0; number < 40; number += 7)
            (void)filled.release(owner("c" + std::to_string(number)).key, soon());
        known = filled.list_all(soon());
        sound = content_of(store.path());
    }

    [[nodiscard]] LeaseFile::Options seeded() {
        auto with = options();
        with.known_leases = [this] { return known; };
        return with;
    }

    /// Uses the file as it is. True if every call worked.
    bool is_usable() {
        try {
            LeaseFile other(options());
            (void)other.find(owner("c1").key, soon());
            (void)other.reserve(owner("new"), {claim("10.0.0.0/24")}, soon());
            (void)other.release(owner("c2").key, soon());
            (void)other.release(owner("new").key, soon());
            return true;
        } catch (const StoreError& error) {
            CHECK_THAT(error.what(), Contains("is damaged"));
            return false;
        }
    }

    /// Repairs the store, and checks that it is sound and has its leases. Returns whether the file was replaced.
    bool repair() {
        LeaseFile other(seeded());
        const auto moved = other.repair(soon());
        REQUIRE_NOTHROW(other.list_all(soon()));
        if (moved) {
            REQUIRE(other.list_all(soon()) == known);
            std::filesystem::remove_all(*moved);
        }
        return moved.has_value();
    }

    std::vector<Lease> known;
    std::string sound;
};

} // namespace

TEST_CASE_METHOD(DamageFixture, "a truncated file is reported, and repaired from the known leases") {
    for (std::size_t size = 0; size < sound.size(); size += 97) {
        INFO("cut at " << size);
        write(store.path(), sound.substr(0, size));
        REQUIRE_FALSE(is_usable());
        REQUIRE(repair());
    }
}

TEST_CASE_METHOD(DamageFixture, "an overwritten file loads or is reported, and can be repaired") {
    std::mt19937 random(11);
    for (int round = 0; round < 150; ++round) {
        INFO("round " << round);
        std::string broken = sound;
        const std::size_t at = round % 3 == 0 ? random() % 200 : random() % broken.size();
        for (std::size_t i = at; i < std::min(broken.size(), at + 1 + random() % 64); ++i)
            broken[i] = static_cast<char>(random());
        write(store.path(), broken);
        (void)is_usable();
        REQUIRE_NOTHROW(repair());
    }
}

TEST_CASE_METHOD(DamageFixture, "a foreign file is moved aside") {
    write(store.path(), std::string(8192, 'x'));
    CHECK_FALSE(is_usable());
    CHECK(repair());

    std::filesystem::remove(store.path());
    std::filesystem::create_directory(store.path());
    CHECK_FALSE(is_usable());
    CHECK(repair());
    CHECK_FALSE(repair());

    std::filesystem::remove(store.path());
    std::filesystem::create_symlink(store.path(), store.path()); // a loop
    CHECK_FALSE(is_usable());
    CHECK(repair());

    std::filesystem::resize_file(store.path(), 1ULL << 32U);
    CHECK_FALSE(is_usable());
    CHECK(repair());
}

TEST_CASE_METHOD(DamageFixture, "a row that makes no sense is damage, whatever the last line says") {
    const std::string address = "\t10.0.0.2\t24\t";
    REQUIRE(sound.find(address) != std::string::npos);
    std::string wrong = sound.substr(0, sound.rfind("end\t"));
    write(store.path(), sealed(wrong.replace(wrong.find(address), address.size(), "\t10.0.0.2\t24\tx")));
    CHECK_FALSE(is_usable());
    CHECK(repair());
}

TEST_CASE_METHOD(DamageFixture, "the lock is that of the directory which is there by then") {
    const std::string place = options().state_directory;
    std::optional<DirectoryLock> first(std::in_place, place, soon());
    std::thread second([&] {
        const DirectoryLock lock(place, soon());
        CHECK_THROWS_AS(DirectoryLock(place, base::Deadline::in(std::chrono::milliseconds(0))), base::TimeoutError);
    });
    CHECK(rdmanet::test::comes_true([&] { return count_open(place) == 2; }));
    std::filesystem::rename(place, place + ".old");
    std::filesystem::create_directory(place);
    first.reset();
    second.join();
    std::filesystem::remove_all(place + ".old");
}

TEST_CASE_METHOD(DamageFixture, "a lack of descriptors is temporary, whether the file is made or repaired") {
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit none = before;
    none.rlim_cur = 0;
    const auto is_temporary = [&](const auto& act) {
        ::setrlimit(RLIMIT_NOFILE, &none);
        bool temporary = false;
        try {
            act();
        } catch (const StoreError& error) {
            temporary = error.temporary();
        }
        ::setrlimit(RLIMIT_NOFILE, &before);
        return temporary;
    };
    write(store.path(), std::string(8192, 'x'));
    CHECK(is_temporary([&] { (void)LeaseFile(options()).repair(soon()); }));
    std::filesystem::remove(store.path());
    CHECK(is_temporary([&] { (void)LeaseFile(options()).reserve(owner("c2"), {claim("10.0.0.0/24")}, soon()); }));
}

TEST_CASE_METHOD(DamageFixture, "a damaged file is kept unchanged, with the time in its name") {
    write(store.path(), sound.substr(0, 5000));
    LeaseFile other(seeded());
    const auto moved = other.repair(soon());
    REQUIRE(moved);
    CHECK(*moved == store.path() + ".corrupt-1700000000");
    CHECK(content_of(*moved) == sound.substr(0, 5000));
}

TEST_CASE_METHOD(DamageFixture, "a newer version is refused, and does not count as damage") {
    write(store.path(), sealed("rdmanet leases 2" + sound.substr(sound.find('\n'))));
    try {
        (void)store.reserve(owner("new"), {claim("10.0.0.0/24")}, soon());
        FAIL("accepted");
    } catch (const DamagedStore&) {
        FAIL("taken for damage");
    } catch (const StoreError& error) {
        CHECK_THAT(error.what(), Names("version 2", "up to 1"));
        CHECK_FALSE(error.temporary());
    }
}

TEST_CASE_METHOD(DamageFixture, "a file that somebody has replaced is read as it is") {
    (void)store.find(owner("c1").key, soon());
    std::filesystem::rename(store.path(), store.path() + ".old");
    write(store.path(), sound);
    CHECK(release(owner("c1")) == "10.0.0.1/24 fd00::1/64");
    LeaseFile fresh(options());
    CHECK(fresh.find(owner("c1").key, soon()).empty());
}
