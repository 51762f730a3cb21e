// STATE_DIR/shared-ranges, a line each:
//     {"store": "whereabouts", "space": "", "subnet": "10.0.0.0/24"}
#include "shared_ranges.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>

namespace rdmanet::attach {
namespace {

constexpr std::size_t kLongestFile = 1U << 20U;
constexpr mode_t kOwnerOnly = 0600;

/// nullopt: a line that is being written, or was cut off.
std::optional<SharedRange> parse_line(std::string_view line) try {
    const json::Document document = json::Document::parse(line);
    const json::Reader range = document.root();
    return SharedRange{.store = range.at("store").string(),
                       .space = range.at("space").string(),
                       .subnet = range.at("subnet").string()};
} catch (const base::Error&) {
    return std::nullopt;
}

std::string line_of(const SharedRange& range) {
    json::Writer line;
    line.begin_object().member("store", range.store).member("space", range.space).member("subnet", range.subnet);
    return line.end_object().to_text();
}

} // namespace

bool SharedRange::overlaps(const ipam::ConfiguredRange& range) const {
    const auto own = base::IpPrefix::parse(subnet);
    const base::IpPrefix& other = range.range.subnet();
    return own && space == range.space && own->family() == other.family() &&
           (own->contains(other.network()) || other.contains(own->network()));
}

SharedRanges::SharedRanges(const Node& node) : path_(fmt::format("{}/shared-ranges", node.state_directory)) {}

std::vector<SharedRange> SharedRanges::list() const {
    std::vector<SharedRange> ranges;
    const std::string text = base::read_regular_file_if_exists(path_, kLongestFile).value_or("");
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        if (auto range = parse_line(rest.substr(0, end))) ranges.push_back(*std::move(range));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return ranges;
}

void SharedRanges::add(const state::LeaseStore& where) const {
    const std::vector<SharedRange> known = list();
    std::string lines;
    for (const state::LeasePool& pool : where.pools) {
        const SharedRange range{.store = where.kind, .space = pool.space, .subnet = pool.network()};
        if (std::find(known.begin(), known.end(), range) == known.end()) lines += fmt::format("\n{}\n", line_of(range));
    }
    if (lines.empty()) return;
    base::make_directories(path_.substr(0, path_.rfind('/')));
    // Several processes may add at once. With O_APPEND each one's lines come behind the others' (generic_write_checks(),
    // fs/read_write.c).
    const base::UniqueFd file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kOwnerOnly));
    if (!file) throw base::SystemError(fmt::format("open {}", path_), errno);
    base::write_all(file.get(), lines, path_);
}

} // namespace rdmanet::attach
