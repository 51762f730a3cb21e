#include "message.hpp"

#include <rdmanet/base/error.hpp>

#include <netlink/attr.h>
#include <netlink/msg.h>

#include <algorithm>
#include <cerrno>
#include <new>

namespace rdmanet::kernel {
namespace {

// libnl refuses an attribute only if there is no room. Every value is small, so that means a bug, or a name far
// longer than the kernel accepts.
void require(bool fits) {
    if (!fits) throw base::SystemError("make netlink message", EMSGSIZE);
}

} // namespace

void Message::Free::operator()(nl_msg* message) const noexcept {
    ::nlmsg_free(message);
}

Message::Message(int type, int flags) : message_(::nlmsg_alloc()) {
    if (!message_) throw std::bad_alloc();
    require(::nlmsg_put(message_.get(), 0, 0, type, 0, flags | NLM_F_REQUEST) != nullptr);
}

void Message::append(Bytes bytes) {
    require(::nlmsg_append(message_.get(), const_cast<unsigned char*>(bytes.data()), bytes.size(), NLMSG_ALIGNTO) == 0);
}

void Message::put(int attribute, Bytes value) {
    require(::nla_put(message_.get(), attribute, static_cast<int>(value.size()), value.data()) == 0);
}

void Message::put_text(int attribute, std::string_view text) {
    require(::nla_put_string(message_.get(), attribute, std::string(text).c_str()) == 0);
}

nlattr* Message::begin_nest(int attribute) {
    nlattr* start = ::nla_nest_start(message_.get(), attribute);
    require(start != nullptr);
    return start;
}

void Message::end_nest(nlattr* start) {
    ::nla_nest_end_keep_empty(message_.get(), start);
}

nlmsghdr& Message::header() {
    return *::nlmsg_hdr(message_.get());
}

std::optional<Bytes> Attributes::find(int attribute) const {
    const auto* found =
        ::nla_find(reinterpret_cast<const nlattr*>(bytes_.data()), static_cast<int>(bytes_.size()), attribute);
    if (found == nullptr) return std::nullopt;
    return Bytes(static_cast<const unsigned char*>(::nla_data(found)), static_cast<std::size_t>(::nla_len(found)));
}

std::vector<Bytes> Attributes::find_all(int attribute) const {
    std::vector<Bytes> values;
    const auto* at = reinterpret_cast<const nlattr*>(bytes_.data());
    int left = static_cast<int>(bytes_.size());
    for (; ::nla_ok(at, left) != 0; at = ::nla_next(at, &left))
        if (::nla_type(at) == attribute)
            values.emplace_back(static_cast<const unsigned char*>(::nla_data(at)),
                                static_cast<std::size_t>(::nla_len(at)));
    return values;
}

std::string Attributes::text(int attribute) const {
    const auto value = find(attribute);
    return value ? std::string(value->begin(), std::find(value->begin(), value->end(), '\0')) : std::string();
}

Attributes Attributes::nest(int attribute) const {
    return Attributes(find(attribute).value_or(Bytes()));
}

Bytes payload_of(const nlmsghdr& message) {
    if (message.nlmsg_len < NLMSG_HDRLEN) return {};
    return {reinterpret_cast<const unsigned char*>(&message) + NLMSG_HDRLEN, message.nlmsg_len - NLMSG_HDRLEN};
}

} // namespace rdmanet::kernel
