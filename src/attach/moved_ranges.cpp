// STATE_DIR/moved-ranges.json:
//     {"ranges": [{"space": "", "first": "10.0.0.1", "last": "10.0.0.254", "store": "blocks"}]}
#include "moved_ranges.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::attach {
namespace {

constexpr std::size_t kLongestList = 1U << 20U;

base::IpAddress parse_address(const json::Reader& text) {
    if (const auto address = base::IpAddress::parse(text.string())) return *address;
    throw text.unexpected("an address");
}

} // namespace

bool MovedRanges::Entry::contains(const std::string& its_space, const base::IpAddress& address) const {
    return space == its_space && moved.first.family() == address.family() && moved.first.value() <= address.value() &&
           address.value() <= moved.last.value();
}

bool MovedRanges::Entry::contains(const Entry& other) const {
    return contains(other.space, other.moved.first) && contains(other.space, other.moved.last);
}

ipam::StoreError MovedRanges::Moved::refusal() const {
    return {
        ipam::StoreError::Kind::permanent,
        fmt::format("the leases of {} to {} have gone from the store of this node to store \"{}\": use that, or run "
                    "`rdmanet ipam migrate --to node --network FILE` on this node",
                    first, last, store)};
}

MovedRanges::MovedRanges(const Node& node) : path_(fmt::format("{}/moved-ranges.json", node.state_directory)) {}

std::optional<MovedRanges::Moved> MovedRanges::find(const std::vector<ipam::Lease>& leases) const {
    for (Entry& entry : read())
        for (const ipam::Lease& lease : leases)
            if (entry.contains(lease.space, lease.address.address())) return std::move(entry.moved);
    return std::nullopt;
}

std::optional<MovedRanges::Moved> MovedRanges::find(const ipam::Config& network) const {
    for (Entry& entry : read())
        for (const ipam::ConfiguredRange& range : network.ranges)
            if (entry.contains(entry_of(range, {}))) return std::move(entry.moved);
    return std::nullopt;
}

MovedRanges::Entry MovedRanges::entry_of(const ipam::ConfiguredRange& range, std::string_view store) {
    const base::Family family = range.range.family();
    return {.space = range.space,
            .moved = {.first = base::IpAddress(family, range.range.bounds().first),
                      .last = base::IpAddress(family, range.range.bounds().last),
                      .store = std::string(store)}};
}

void MovedRanges::add(const ipam::Config& network, std::string_view store) const {
    std::vector<Entry> entries = read();
    for (const ipam::ConfiguredRange& range : network.ranges) entries.push_back(entry_of(range, store));
    // The last one of equal ranges says what holds.
    for (auto entry = entries.begin(); entry != entries.end();) {
        const bool is_said_again =
            std::any_of(std::next(entry), entries.end(), [&](const Entry& later) { return later.contains(*entry); });
        entry = is_said_again ? entries.erase(entry) : std::next(entry);
    }
    write(entries);
}

void MovedRanges::remove(const ipam::Config& network) const {
    std::vector<Entry> entries = read();
    const std::size_t before = entries.size();
    std::erase_if(entries, [&](const Entry& entry) {
        return std::any_of(network.ranges.begin(), network.ranges.end(),
                           [&](const ipam::ConfiguredRange& range) { return entry_of(range, {}).contains(entry); });
    });
    if (entries.size() != before) write(entries);
}

std::vector<MovedRanges::Entry> MovedRanges::read() const try {
    std::vector<Entry> entries;
    const auto text = base::read_regular_file_if_exists(path_, kLongestList);
    if (!text) return entries;
    const json::Document document = json::Document::parse(*text);
    for (const json::Reader& range : document.root().at("ranges").elements())
        entries.push_back({.space = range.at("space").string(),
                           .moved = {.first = parse_address(range.at("first")),
                                     .last = parse_address(range.at("last")),
                                     .store = range.at("store").string()}});
    return entries;
} catch (const base::Error& error) {
    throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                           fmt::format("{} cannot be read, so the store of this node cannot know which ranges have "
                                       "gone to a cluster: {}",
                                       path_, error.what()));
}

void MovedRanges::write(const std::vector<Entry>& entries) const {
    json::Writer writer(json::Layout::indented);
    writer.begin_object().key("ranges").begin_array();
    for (const Entry& entry : entries)
        writer.begin_object()
            .member("space", entry.space)
            .member("first", entry.moved.first.to_string())
            .member("last", entry.moved.last.to_string())
            .member("store", entry.moved.store)
            .end_object();
    base::write_file_durably(path_, writer.end_array().end_object().to_text());
}

} // namespace rdmanet::attach
