#include <rdmanet/kernel/ethtool.hpp>

#include "message.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace rdmanet::kernel {
namespace {

constexpr std::uint32_t kWordBits = 32;

std::uint32_t word_of(const FeatureSet& set, std::size_t at) {
    return at < set.size() ? set[at] : 0;
}

bool has(const FeatureSet& set, std::uint32_t feature) {
    return (word_of(set, feature / kWordBits) >> feature % kWordBits & 1U) != 0;
}

Message features_message(int family, std::uint8_t command, unsigned ifindex, std::uint32_t flags) {
    Message request(family, 0, genlmsghdr{.cmd = command, .version = ETHTOOL_GENL_VERSION, .reserved = 0});
    request.nest(ETHTOOL_A_FEATURES_HEADER, [&] {
        request.put_u32(ETHTOOL_A_HEADER_DEV_INDEX, ifindex);
        request.put_u32(ETHTOOL_A_HEADER_FLAGS, flags);
    });
    return request;
}

Bytes bytes_of(const FeatureSet& set) {
    return {reinterpret_cast<const unsigned char*>(set.data()), set.size() * sizeof(FeatureSet::value_type)};
}

FeatureSet parse_set(const Attributes& bitset) {
    const Bytes bytes = bitset.find(ETHTOOL_A_BITSET_VALUE).value_or(Bytes());
    FeatureSet set(bytes.size() / sizeof(FeatureSet::value_type));
    if (!set.empty()) std::memcpy(set.data(), bytes.data(), set.size() * sizeof(FeatureSet::value_type));
    return set;
}

/// The attributes of an answer about features. A refusal throws NetlinkError.
Attributes require_answer(const Answer& answer, int family, unsigned ifindex) {
    const auto parsed = answer.errno_value == 0 && answer.message != nullptr
                            ? parse_message<genlmsghdr>(*answer.message, family)
                            : std::nullopt;
    if (!parsed)
        throw NetlinkError(fmt::format("read features of interface number {}", ifindex),
                           answer.errno_value == 0 ? EBADMSG : answer.errno_value, answer.kernel_message);
    return parsed->second;
}

} // namespace

FeatureSet difference(const FeatureSet& one, const FeatureSet& other, const FeatureSet& within) {
    FeatureSet rest(within.size());
    for (std::size_t at = 0; at < within.size(); ++at) rest[at] = (word_of(one, at) ^ word_of(other, at)) & within[at];
    while (!rest.empty() && rest.back() == 0) rest.pop_back();
    return rest;
}

std::optional<Ethtool> Ethtool::find(const base::Deadline& deadline) {
    Socket socket = Socket::open(Protocol::generic, deadline);
    Message request(GENL_ID_CTRL, 0, genlmsghdr{.cmd = CTRL_CMD_GETFAMILY, .version = 1, .reserved = 0});
    request.put_text(CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
    const Answer answer = socket.ask(request);
    if (answer.errno_value == ENOENT) return std::nullopt;
    const auto parsed = answer.errno_value == 0 && answer.message != nullptr
                            ? parse_message<genlmsghdr>(*answer.message, GENL_ID_CTRL)
                            : std::nullopt;
    const auto family = parsed ? parsed->second.find_u16(CTRL_ATTR_FAMILY_ID) : std::nullopt;
    if (!family)
        throw NetlinkError("look up netlink family ethtool", answer.errno_value == 0 ? EBADMSG : answer.errno_value,
                           answer.kernel_message);
    return Ethtool(std::move(socket), *family);
}

std::optional<Features> Ethtool::find_features(unsigned ifindex) {
    Message request = features_message(family_, ETHTOOL_MSG_FEATURES_GET, ifindex, ETHTOOL_FLAG_COMPACT_BITSETS);
    const Answer answer = socket_.ask(request);
    if (answer.errno_value == EOPNOTSUPP) return std::nullopt;
    const Attributes attributes = require_answer(answer, family_, ifindex);
    const auto set = [&](int attribute) { return parse_set(attributes.nest(attribute)); };
    const FeatureSet by_driver = set(ETHTOOL_A_FEATURES_HW);
    return Features{.changeable = difference(by_driver, set(ETHTOOL_A_FEATURES_NOCHANGE), by_driver),
                    .wanted = set(ETHTOOL_A_FEATURES_WANTED),
                    .active = set(ETHTOOL_A_FEATURES_ACTIVE)};
}

void Ethtool::want_features(unsigned ifindex, const FeatureSet& wanted, const FeatureSet& which) {
    FeatureSet values(which.size());
    for (std::size_t at = 0; at < which.size(); ++at) values[at] = word_of(wanted, at) & which[at];
    Message request = features_message(family_, ETHTOOL_MSG_FEATURES_SET, ifindex,
                                       ETHTOOL_FLAG_COMPACT_BITSETS | ETHTOOL_FLAG_OMIT_REPLY);
    request.nest(ETHTOOL_A_FEATURES_WANTED, [&] {
        request.put_u32(ETHTOOL_A_BITSET_SIZE, static_cast<std::uint32_t>(which.size()) * kWordBits);
        request.put(ETHTOOL_A_BITSET_VALUE, bytes_of(values));
        request.put(ETHTOOL_A_BITSET_MASK, bytes_of(which));
    });
    socket_.execute(request, fmt::format("change features of interface number {}", ifindex));
}

std::string Ethtool::names_of(unsigned ifindex, const FeatureSet& features) {
    Message request = features_message(family_, ETHTOOL_MSG_FEATURES_GET, ifindex, 0);
    const Attributes attributes = require_answer(socket_.ask(request), family_, ifindex);
    std::vector<std::string> names;
    // The bits have a mask of all features, so each feature is listed, whether the driver allows a change or not.
    for (const Bytes bit :
         attributes.nest(ETHTOOL_A_FEATURES_HW).nest(ETHTOOL_A_BITSET_BITS).find_all(ETHTOOL_A_BITSET_BITS_BIT)) {
        const Attributes feature(bit);
        const auto number = feature.find_u32(ETHTOOL_A_BITSET_BIT_INDEX);
        if (number && has(features, *number)) names.emplace_back(feature.text(ETHTOOL_A_BITSET_BIT_NAME));
    }
    return base::join(names);
}

} // namespace rdmanet::kernel
