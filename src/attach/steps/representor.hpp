// The representor is the host's end of a VF whose PF is in switchdev mode. A bridge, Open vSwitch or tc connects it.
#pragma once

#include "context.hpp"
#include "kinds.hpp"

#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// Settings of a VF's representor were changed. Undoing it restores them, if it is still the same representor.
struct SetRepresentor {
    static constexpr std::string_view kKind = kSetRepresentor;

    std::string pf;              // bus address
    unsigned number = 0;         // of the VF in its PF
    unsigned ifindex = 0;        // of the representor on the host
    std::string name;            // for messages
    std::optional<unsigned> mtu; // bytes, from before; absent: not changed
    bool was_down = false;       // ADD brought it up
    bool had_ipv6 = false;       // ADD disabled IPv6 on it
    std::string device;          // bus address of the VF; empty in records of earlier versions

    [[nodiscard]] static SetRepresentor parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
    [[nodiscard]] state::Holds holds() const { return {.device = device}; }
    [[nodiscard]] std::string describe() const;
    [[nodiscard]] ByHand by_hand(const base::Deadline& deadline) const;
    void revert(const RevertContext& context) const;
};

} // namespace rdmanet::attach
