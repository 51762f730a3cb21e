// Builds and reads netlink messages, with libnl's core.
#pragma once

#include <rdmanet/base/ip_address.hpp>

#include <linux/netlink.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

struct nl_msg;

namespace rdmanet::kernel {

using Bytes = std::span<const unsigned char>;

/// AF_INET or AF_INET6.
[[nodiscard]] std::uint8_t address_family(base::Family family);

/// One request: netlink header, family header (ifinfomsg, rtmsg, ...), attributes.
class Message {
public:
    /// `flags` are added to NLM_F_REQUEST.
    Message(int type, int flags);

    template <class Header>
    Message(int type, int flags, const Header& header) : Message(type, flags) {
        append({reinterpret_cast<const unsigned char*>(&header), sizeof header});
    }

    /// A family header, at the start of the message or of a nest.
    void append(Bytes bytes);
    void put(int attribute, Bytes value);
    /// A structure of a kernel header.
    template <class Value>
    void put_value(int attribute, Value value) {
        put(attribute, {reinterpret_cast<const unsigned char*>(&value), sizeof value});
    }
    void put_u8(int attribute, std::uint8_t value) { put_value(attribute, value); }
    void put_u16(int attribute, std::uint16_t value) { put_value(attribute, value); }
    void put_u32(int attribute, std::uint32_t value) { put_value(attribute, value); }
    /// With a terminating zero byte.
    void put_text(int attribute, std::string_view text);
    void put_ip(int attribute, const base::IpAddress& address);

    /// The attributes that `fill` puts are nested in this one.
    template <class Fill>
    void nest(int attribute, Fill&& fill) {
        nlattr* start = begin_nest(attribute);
        std::forward<Fill>(fill)();
        end_nest(start);
    }

    [[nodiscard]] nlmsghdr& header();

private:
    struct Free {
        void operator()(nl_msg* message) const noexcept;
    };

    nlattr* begin_nest(int attribute);
    void end_nest(nlattr* start);

    std::unique_ptr<nl_msg, Free> message_;
};

/// An attribute, and what Attributes::read() sets to its value: a text up to its first zero byte.
struct Field {
    int attribute;
    std::variant<std::uint8_t*, std::uint32_t*, std::uint64_t*, std::string*, Bytes*, std::optional<std::uint8_t>*,
                 std::optional<std::uint16_t>*, std::optional<std::uint32_t>*, std::optional<std::int32_t>*>
        value;
};

/// The attributes of a message or of a nest, found by number. Malformed ends and values of the wrong size are absent.
class Attributes {
public:
    explicit Attributes(Bytes bytes) : bytes_(bytes) {}

    /// Leaves absent ones as they are.
    void read(std::initializer_list<Field> fields) const;

    [[nodiscard]] std::optional<Bytes> find(int attribute) const;
    [[nodiscard]] std::optional<std::uint8_t> find_u8(int attribute) const {
        return find_value<std::uint8_t>(attribute);
    }
    [[nodiscard]] std::optional<std::uint16_t> find_u16(int attribute) const {
        return find_value<std::uint16_t>(attribute);
    }
    [[nodiscard]] std::optional<std::uint32_t> find_u32(int attribute) const {
        return find_value<std::uint32_t>(attribute);
    }
    [[nodiscard]] std::optional<std::int32_t> find_i32(int attribute) const {
        return find_value<std::int32_t>(attribute);
    }
    [[nodiscard]] std::optional<std::uint64_t> find_u64(int attribute) const {
        return find_value<std::uint64_t>(attribute);
    }
    /// Up to the first zero byte; empty if absent.
    [[nodiscard]] std::string text(int attribute) const;
    /// The attributes nested in an attribute; none if it is absent.
    [[nodiscard]] Attributes nest(int attribute) const;
    /// All values of an attribute that may be repeated.
    [[nodiscard]] std::vector<Bytes> find_all(int attribute) const;

    template <class Value>
    [[nodiscard]] std::optional<Value> find_value(int attribute) const {
        static_assert(std::is_trivially_copyable_v<Value>);
        const auto bytes = find(attribute);
        if (!bytes || bytes->size() != sizeof(Value)) return std::nullopt;
        Value value;
        __builtin_memcpy(&value, bytes->data(), sizeof value);
        return value;
    }

private:
    Bytes bytes_;
};

/// nullopt if there is no value, or it is not an address of the family.
[[nodiscard]] std::optional<base::IpAddress> parse_ip(int address_family, const std::optional<Bytes>& value);

/// The bytes after the netlink header.
[[nodiscard]] Bytes payload_of(const nlmsghdr& message);

/// All attributes of a message without a family header, as those of NETLINK_RDMA.
[[nodiscard]] inline Attributes attributes_of(const nlmsghdr& message) {
    return Attributes(payload_of(message));
}

/// A message split into its family header and its attributes; nullopt if it is too short or of another type.
template <class Header>
[[nodiscard]] std::optional<std::pair<Header, Attributes>> parse_message(const nlmsghdr& message, int type) {
    const Bytes payload = payload_of(message);
    if (message.nlmsg_type != type || payload.size() < sizeof(Header)) return std::nullopt;
    Header header;
    __builtin_memcpy(&header, payload.data(), sizeof header);
    return std::pair{header,
                     Attributes(payload.subspan(
                         NLMSG_ALIGN(sizeof header) > payload.size() ? payload.size() : NLMSG_ALIGN(sizeof header)))};
}

} // namespace rdmanet::kernel
