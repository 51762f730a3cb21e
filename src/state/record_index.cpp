#include "record_index.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace rdmanet::state {
namespace {

constexpr std::string_view kHeading = "rdmanet-records-index 4 "; // another number whenever topics() changes
constexpr std::size_t kLargestIndex = std::size_t{64} << 20U;

std::string path_in(const std::string& directory) {
    return fmt::format("{}/records.index", directory);
}

/// Removes the text up to `end`, and `end`, from `text`. Returns the text before `end`.
std::string_view take(std::string_view& text, char end) {
    const auto length = std::min(text.find(end), text.size());
    const std::string_view taken = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    return taken;
}

} // namespace

RecordIndex RecordIndex::load(const std::string& directory) {
    try {
        return parse(base::read_file_if_exists(path_in(directory), kLargestIndex).value_or(""));
    } catch (const base::SystemError&) {
        return {}; // then the records are read
    }
}

bool RecordIndex::is_possible_in(const std::string& directory) {
    return base::is_in_memory(directory);
}

RecordIndex RecordIndex::parse(std::string_view text) {
    if (!text.starts_with(kHeading)) return {};
    text.remove_prefix(kHeading.size());
    const auto hash = base::parse_integer<std::uint64_t>(take(text, '\n'));
    if (hash != base::hash64(text)) return {};
    RecordIndex index;
    while (!text.empty()) {
        std::string_view line = take(text, '\n');
        const auto inode = base::parse_integer<std::uint64_t>(take(line, ' '));
        const std::string_view name = take(line, ' ');
        if (!inode) return {};
        Entry entry{.inode = *inode, .topics = {}};
        while (!line.empty())
            if (const auto topic = base::parse_integer<std::uint64_t>(take(line, ' '))) entry.topics.push_back(*topic);
        index.entries_.emplace_hint(index.entries_.end(), name, std::move(entry));
    }
    return index;
}

std::string RecordIndex::to_text() const {
    std::string lines;
    for (const auto& [name, entry] : entries_) {
        lines += fmt::format("{} {}", entry.inode, name);
        for (const std::uint64_t topic : entry.topics) lines += fmt::format(" {}", topic);
        lines += '\n';
    }
    return fmt::format("{}{}\n{}", kHeading, base::hash64(lines), lines);
}

bool RecordIndex::knows(const std::string& name, std::uint64_t inode) const {
    const auto found = entries_.find(name);
    return found != entries_.end() && found->second.inode == inode;
}

bool RecordIndex::is_about(std::string_view topic, const std::string& name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) return false;
    const auto& topics = found->second.topics;
    return std::find(topics.begin(), topics.end(), base::hash64(topic)) != topics.end();
}

void RecordIndex::put(const std::string& name, std::uint64_t inode, const AttachmentRecord& record) {
    Entry entry{.inode = inode, .topics = {}};
    for (const std::string& topic : record.topics()) entry.topics.push_back(base::hash64(topic));
    entries_.insert_or_assign(name, std::move(entry));
}

void RecordIndex::copy_from(const RecordIndex& other, const std::string& name) {
    if (const auto found = other.entries_.find(name); found != other.entries_.end())
        entries_.insert_or_assign(name, found->second);
}

void RecordIndex::save_if_possible(const std::string& directory) const noexcept {
    try {
        base::write_file_durably(path_in(directory), to_text());
    } catch (const std::exception&) { // the index is only a cache
    }
}

} // namespace rdmanet::state
