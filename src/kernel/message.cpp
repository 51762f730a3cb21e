#include "message.hpp"

#include <rdmanet/base/error.hpp>

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <sys/socket.h>

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

void assign(Bytes& value, Bytes bytes) {
    value = bytes;
}

void assign(std::string& value, Bytes bytes) {
    value.assign(bytes.begin(), std::find(bytes.begin(), bytes.end(), '\0'));
}

template <class Number>
void assign(Number& value, Bytes bytes) {
    if (bytes.size() == sizeof value) __builtin_memcpy(&value, bytes.data(), sizeof value);
}

template <class Number>
void assign(std::optional<Number>& value, Bytes bytes) {
    if (bytes.size() == sizeof(Number)) assign(value.emplace(), bytes);
}

} // namespace

std::uint8_t address_family(base::Family family) {
    return family == base::Family::v4 ? AF_INET : AF_INET6;
}

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

void Message::put_ip(int attribute, const base::IpAddress& address) {
    const auto bytes = address.bytes();
    put(attribute, {bytes.data(), address.byte_count()});
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

void Attributes::read(std::initializer_list<Field> fields) const {
    for (const auto& [attribute, value] : fields)
        if (const auto bytes = find(attribute)) std::visit([&](auto* to) { assign(*to, *bytes); }, value);
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
    std::string value;
    read({{attribute, &value}});
    return value;
}

Attributes Attributes::nest(int attribute) const {
    return Attributes(find(attribute).value_or(Bytes()));
}

std::optional<base::IpAddress> parse_ip(int address_family, const std::optional<Bytes>& value) {
    if (!value || (address_family != AF_INET && address_family != AF_INET6)) return std::nullopt;
    const auto family = address_family == AF_INET ? base::Family::v4 : base::Family::v6;
    if (value->size() != base::address_bits(family) / 8) return std::nullopt;
    return base::IpAddress::from_bytes(family, value->data());
}

Bytes payload_of(const nlmsghdr& message) {
    if (message.nlmsg_len < NLMSG_HDRLEN) return {};
    return {reinterpret_cast<const unsigned char*>(&message) + NLMSG_HDRLEN, message.nlmsg_len - NLMSG_HDRLEN};
}

} // namespace rdmanet::kernel
