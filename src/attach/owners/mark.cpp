#include "mark.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <linux/if.h>

#include <utility>

namespace rdmanet::attach {
namespace {

using state::AttachmentRecord;

constexpr std::string_view kMarkBegin = "rdmanet ";
// The kernel counts the terminating zero (ifla_policy, net/core/rtnetlink.c).
constexpr std::size_t kLongestAlias = IFALIASZ - 2;

/// Removes the first word and the space after it from `text`, and returns the word.
std::string_view take_word(std::string_view& text) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    return word;
}

bool is_returned(const kernel::Link& link) {
    return link.kind == "ipoib" && link.parent_ifindex && !link.parent_netnsid && !link.is_up();
}

} // namespace

std::optional<std::string> mark_of(const AttachmentRecord& record) {
    std::string mark = fmt::format("{}{} {} {} {}", kMarkBegin, record.netns.inode, record.netns.cookie,
                                   record.pid_view, record.key.file_name());
    return mark.size() > kLongestAlias ? std::nullopt : std::optional(std::move(mark));
}

std::optional<AttachmentRecord> parse_mark(const std::string& alias, const Node& node) {
    std::string_view text = alias;
    if (!text.starts_with(kMarkBegin)) return std::nullopt;
    text.remove_prefix(kMarkBegin.size());
    const auto inode = base::parse_integer<std::uint64_t>(take_word(text));
    const auto cookie = base::parse_integer<std::uint64_t>(take_word(text));
    const auto pid_namespace = base::parse_integer<std::uint64_t>(take_word(text));
    auto key = state::AttachmentKey::parse_file_name(text);
    if (!inode || !cookie || !pid_namespace || !key) return std::nullopt;
    AttachmentRecord record;
    record.key = *std::move(key);
    record.boot_id = node.boot_id; // a link does not survive a reboot
    record.pid_view = *pid_namespace;
    record.netns.inode = *inode;
    record.netns.cookie = *cookie;
    return record;
}

std::vector<MarkedChild> list_returned_children(const Node& node, const base::Deadline& deadline) {
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    std::vector<MarkedChild> children;
    for (kernel::Link& link : kernel::list_links(route)) {
        if (!is_returned(link)) continue;
        if (auto record = parse_mark(link.alias, node))
            children.push_back({.link = std::move(link), .record = *std::move(record)});
    }
    return children;
}

} // namespace rdmanet::attach
