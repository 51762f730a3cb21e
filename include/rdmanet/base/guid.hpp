// A 64-bit global identifier of an InfiniBand node or port.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::base {

class IpAddress;

class Guid {
public:
    explicit Guid(std::uint64_t value) : value_(value) {}

    /// Eight hexadecimal pairs separated by ':', in either case.
    [[nodiscard]] static std::optional<Guid> parse(std::string_view text);
    /// The interface identifier of a GID: its last eight bytes.
    [[nodiscard]] static Guid from_gid(const IpAddress& gid);

    /// The first pair is the most significant byte, in the order that rtnetlink uses (linux/if_link.h, ifla_vf_guid).
    [[nodiscard]] std::uint64_t value() const { return value_; }
    /// All bits clear or all set: some drivers use these for "none".
    [[nodiscard]] bool is_nobodys() const { return value_ == 0 || value_ == UINT64_MAX; }

    /// Lower case, colon separated.
    [[nodiscard]] std::string to_string() const;

    friend bool operator==(const Guid&, const Guid&) = default;

private:
    std::uint64_t value_;
};

} // namespace rdmanet::base
