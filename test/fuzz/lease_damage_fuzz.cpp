// A lease store whose file was damaged in one place works or reports the damage. It gives addresses of the range only,
// each once, and none of another owner. After a repair it is sound and has the leases of the journal.
//
// Input: the place (2 bytes), the kind of damage (1 byte), the bytes to write there (up to 32).
#include "demand.hpp"
#include "lease_store.hpp"

#include <rdmanet/base/file.hpp>

#include <fcntl.h>

#include <set>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

constexpr unsigned kHolders = 12;
constexpr unsigned kNewcomers = 8;
constexpr std::size_t kMostDamage = 32;

std::vector<ipam::Claim> claims() {
    return {claim("10.0.0.0/27", {{1, 9}, {11, 20}}, 30), claim("fd00::/120", {{1, 18}}, 30)};
}

/// A store with leases, gaps and resting addresses, as a file.
class Template {
public:
    Template() {
        ipam::LeaseFile store(options(directory_.path()));
        for (unsigned number = 0; number < kHolders; ++number)
            (void)store.reserve(owner(number, "pod-" + std::to_string(number)), claims(), soon());
        for (const unsigned number : {2U, 3U, 7U}) store.release(owner(number).key, soon());
        leases_ = store.list_all(soon());
        image_ = base::read_file(store.path(), 1U << 20U);
    }

    [[nodiscard]] ipam::LeaseFile::Options options(const std::string& directory) const {
        return {.state_directory = directory,
                .known_leases = [this] { return leases_; },
                .clock = [] { return ipam::Time{.boot = 1000, .epoch = 1'700'000'000}; }};
    }
    [[nodiscard]] const std::vector<ipam::Lease>& leases() const { return leases_; }
    [[nodiscard]] const std::string& image() const { return image_; }

private:
    test::Directory directory_;
    std::vector<ipam::Lease> leases_;
    std::string image_;
};

std::string damaged(std::string image, std::string_view input) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(input[at]); };
    const std::size_t at = (byte(0) * 256U + byte(1)) % image.size();
    if (byte(2) % 8 == 0) return image.substr(0, at);
    if (byte(2) % 8 == 1) return image.substr(0, at / 4096 * 4096);
    const std::string_view bytes = input.substr(3, kMostDamage);
    const std::size_t length = std::min(bytes.size(), image.size() - at);
    return image.replace(at, length, bytes.substr(0, length));
}

void put_file(const std::string& path, std::string_view content) {
    const base::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    base::write_all(fd.get(), content, path);
}

/// New owners take the remaining addresses.
class Taking {
public:
    explicit Taking(const std::vector<ipam::Lease>& held) {
        for (const ipam::Lease& lease : held) given_.insert(lease.address.address());
    }

    /// False if the store refused. Addresses that it gave before still count.
    bool take(ipam::LeaseFile& store, unsigned number) try {
        const ipam::Owner newcomer = owner(50 + number);
        const auto wanted = claims();
        const auto outcome = store.reserve(newcomer, wanted, soon());
        const auto* granted = std::get_if<ipam::Granted>(&outcome);
        if (granted == nullptr) return true;
        demand(granted->leases.size() == wanted.size(), "not one lease for each claim");
        for (std::size_t slot = 0; slot < wanted.size(); ++slot) check(granted->leases[slot], wanted[slot], newcomer);
        return true;
    } catch (const ipam::StoreError&) {
        return false;
    }

private:
    void check(const ipam::Lease& lease, const ipam::Claim& claim, const ipam::Owner& newcomer) {
        const base::IpAddress& address = lease.address.address();
        demand(is_usable(claim, address), "given outside of the range: " + address.to_string());
        demand(lease.address.length() == claim.prefix_length, "given with another length: " + address.to_string());
        demand(lease.owner == newcomer, "given to someone else: " + address.to_string());
        demand(given_.insert(address).second, "given twice: " + address.to_string());
    }

    std::set<base::IpAddress> given_;
};

/// Calls that must work or refuse, whatever the file has.
void look_around(ipam::LeaseFile& store) {
    try {
        (void)store.list_all(soon());
        (void)store.usage(claims().front(), soon());
        (void)store.find_predecessors(owner(60, "pod-5"), soon());
        store.release(owner(5).key, soon());
    } catch (const ipam::StoreError&) {
    }
}

void demand_repairable(const Template& sound, const std::string& directory) {
    ipam::LeaseFile store(sound.options(directory));
    try {
        const bool replaced = store.repair(soon()).has_value();
        demand(store.verify(soon()).empty(), "repaired, it still has faults");
        if (replaced)
            demand(store.list_all(soon()) == sound.leases(), "repaired, it has other leases than the journal");
    } catch (const ipam::DamagedStore& error) {
        demand(false, std::string("repaired, it is damaged: ") + error.what());
    } catch (const ipam::StoreError&) { // the version is newer
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    static const Template sound;
    static const test::Directory directory;
    if (size < 3) return 0;
    clear(directory);
    {
        ipam::LeaseFile store(sound.options(directory.path()));
        put_file(store.path(), damaged(sound.image(), as_text(data, size)));
        Taking newcomers(sound.leases());
        for (unsigned number = 0; number < kNewcomers; ++number)
            if (!newcomers.take(store, number)) break;
        look_around(store);
    }
    demand_repairable(sound, directory.path());
    return 0;
}
