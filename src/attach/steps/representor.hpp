// The host's end of a VF whose PF is in switchdev mode: a bridge, Open vSwitch or tc connect it with others.
#pragma once

#include "check_context.hpp"
#include "context.hpp"
#include "findings.hpp"
#include "kinds.hpp"
#include "step.hpp"

#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// A VF's representor, by which the host's bridge reaches the pod: what of it was changed, as it was. Undone by
/// making it so again, while it is still the same one.
struct SetRepresentor {
    static constexpr std::string_view kKind = kSetRepresentor;

    std::string pf;              // bus address
    unsigned number = 0;         // of the VF in its PF
    unsigned ifindex = 0;        // of the representor on the host
    std::string name;            // for messages
    std::optional<unsigned> mtu; // bytes; absent: not changed
    bool was_down = false;       // and was brought up
    bool had_ipv6 = false;       // which was switched off before
    std::string device;          // bus address of the VF; empty in records of earlier versions

    [[nodiscard]] static SetRepresentor parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
    [[nodiscard]] state::Holds holds() const { return {.device = device}; }
    [[nodiscard]] std::string describe() const;
    void revert(const RevertContext& context) const;
};

/// By number and port name, whatever it is called. None if the PF is in legacy mode, or the VF's is not in the host's
/// namespace, which is a warning.
void find_representor(const PlanContext& context, Findings& found);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_representor(const AddContext& context, const Findings& found);

/// Throws CniError (code 107) for what differs.
void check_representor(const CheckContext& context);

} // namespace rdmanet::attach
