#include "support/snapshot.hpp"
#include "support/concat.hpp"

#include "support/lease_lines.hpp"
#include "support/netns_lines.hpp"
#include "support/netns_visit.hpp"
#include "support/patience.hpp"
#include "support/sysctl_lines.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> network_namespaces() {
    std::vector<std::string> names;
    if (!fs::exists("/run/netns")) return names;
    for (const auto& entry : fs::directory_iterator("/run/netns")) names.push_back(entry.path().filename());
    return names;
}

void add_lines(std::multiset<std::string>& lines, const std::string& where, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) lines.insert(concat(where, ": ", text));
}

/// Links, addresses, routes and sysctls of the calling thread's namespace, and what is still pending there.
void add_network(std::multiset<std::string>& lines, const std::string& where, Numbers numbers,
                 std::vector<std::string>& pending) {
    const NetnsLines network = netns_lines(numbers);
    add_lines(lines, where, network.lines);
    add_lines(lines, where, sysctl_lines());
    for (const std::string& each : network.pending) pending.push_back(concat(where, ": ", each));
}

std::vector<std::string> add_kernel_state(std::multiset<std::string>& lines, Numbers numbers) {
    std::vector<std::string> pending;
    add_network(lines, "host", numbers, pending);
    const std::vector<std::string> rdma_of_host = rdma_lines(numbers);
    add_lines(lines, "RDMA", rdma_of_host);
    for (const std::string& name : network_namespaces()) {
        const std::string where = concat("namespace ", name);
        const NetnsVisit visit(concat("/run/netns/", name));
        add_network(lines, where, numbers, pending);
        // In shared mode every namespace shows the host's devices.
        if (const auto rdma = rdma_lines(numbers); rdma != rdma_of_host) add_lines(lines, where + " RDMA", rdma);
    }
    return pending;
}

/// nullopt if the file does not exist. No exception for an unreadable file: most entries of a GID table are empty and
/// return EINVAL, a thousand of them in each snapshot.
std::optional<std::string> line_in(const std::string& path) {
    const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return std::nullopt;
    char line[256];
    const ssize_t size = ::read(file.get(), line, sizeof line);
    const std::string_view text(line, size < 0 ? 0 : static_cast<std::size_t>(size));
    return std::string(text.substr(0, text.find('\n')));
}

void add_gids_of(std::multiset<std::string>& lines, const fs::path& device, const fs::path& port) {
    const std::string directory = port.string();
    for (unsigned index = 0;; ++index) {
        const auto gid = line_in(concat(directory, "/gids/", index));
        if (!gid) return;
        if (gid->find_first_not_of("0:") == std::string::npos) continue;
        lines.insert(concat("GID ", device.filename().string(), '/', port.filename().string(), ": ", *gid, ' ',
                            line_in(concat(directory, "/gid_attrs/ndevs/", index)).value_or(""), ' ',
                            line_in(concat(directory, "/gid_attrs/types/", index)).value_or("")));
    }
}

void add_gids(std::multiset<std::string>& lines) {
    const fs::path devices = "/sys/class/infiniband";
    if (!fs::exists(devices)) return;
    for (const auto& device : fs::directory_iterator(devices))
        for (const auto& port : fs::directory_iterator(device.path() / "ports"))
            add_gids_of(lines, device.path(), port.path());
}

std::string state_directory() {
    const char* chosen = std::getenv("RDMANET_STATE_DIR");
    return chosen != nullptr ? chosen : "/run/rdmanet";
}

} // namespace

bool is_boot_memory(const std::string& file) {
    return file.size() > 16 && file.at(file.size() - 17) == '-' &&
           file.find_first_not_of("0123456789abcdef", file.size() - 16) == std::string::npos;
}

namespace {

/// Files that always exist after the plugin ran are not state. The leases in the database are listed instead. What a
/// killed writer leaves and the next writer replaces is not state either: the database's rollback journal, and
/// temporary files.
void add_state(std::multiset<std::string>& lines) {
    const fs::path directory = state_directory();
    if (!fs::exists(directory)) return;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
        const std::string name = fs::relative(entry.path(), directory);
        const bool database = name == "leases" || name == "blocks";
        const bool lock = name == "lock" || name.ends_with(".lock");
        const bool cache = name == "records.index" || name.starts_with("resting-") || name.starts_with("crowd-") ||
                           is_boot_memory(name) ||
                           (name.ends_with(".tmp") && is_boot_memory(name.substr(0, name.size() - 4)));
        // It says nothing without its record.
        const bool stale = fs::is_symlink(entry) && !fs::exists(directory / "attachments" / fs::read_symlink(entry));
        const bool being_written = name == "records.index.tmp" || name == "rdma-names.json.tmp";
        if (!lock && !database && !cache && !being_written && !stale && name != "attachments" && name != "addresses")
            lines.insert(concat("state: ", name));
    }
    for (const char* name : {"leases", "blocks"})
        for (std::string& line : lease_lines(directory / name)) lines.insert(std::move(line));
}

std::vector<std::string> only_in(const std::multiset<std::string>& these, const std::multiset<std::string>& others) {
    std::vector<std::string> only;
    std::set_difference(these.begin(), these.end(), others.begin(), others.end(), std::back_inserter(only));
    return only;
}

/// DEL may leave IPv6 switched on for a loopback that had it switched off.
void forgive_loopbacks(std::vector<std::string>& gone, std::vector<std::string>& come) {
    std::erase_if(come, [&](const std::string& line) {
        return !line.starts_with("host") && is_loopback_with_ipv6(line) && std::erase(gone, switched_off(line)) != 0;
    });
}

/// Returns what the kernel is not done with.
std::vector<std::string> look(std::multiset<std::string>& lines, Numbers numbers) {
    lines.clear();
    std::vector<std::string> pending = add_kernel_state(lines, numbers);
    add_gids(lines);
    add_state(lines);
    return pending;
}

} // namespace

Snapshot Snapshot::take(Numbers numbers) {
    Snapshot snapshot;
    (void)look(snapshot.lines_, numbers);
    return snapshot;
}

Snapshot Snapshot::take_settled(Numbers numbers) {
    Snapshot snapshot;
    std::vector<std::string> pending;
    if (!comes_true([&] { return (pending = look(snapshot.lines_, numbers)).empty(); }))
        throw base::Error(concat("the kernel is not done with ", pending.front()));
    return snapshot;
}

std::string Snapshot::difference_to(const Snapshot& later) const {
    std::vector<std::string> gone = only_in(lines_, later.lines_);
    std::vector<std::string> come = only_in(later.lines_, lines_);
    forgive_loopbacks(gone, come);
    std::string text;
    for (const std::string& line : gone) text += concat("- ", line, '\n');
    for (const std::string& line : come) text += concat("+ ", line, '\n');
    return text;
}

} // namespace rdmanet::test
