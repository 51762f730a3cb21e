// What a PF is to change of a VF, and is to change back.
#pragma once

#include "check_context.hpp"
#include "context.hpp"
#include "findings.hpp"
#include "kinds.hpp"
#include "step.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/vf.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// Settings of a VF that its PF changed. Undone by setting them again as they were.
struct SetVf {
    static constexpr std::string_view kKind = kSetVf;
    /// How a device is set up is no matter of the host's before the device is there.
    static constexpr std::array kWaitsFor{kMoveLink, kMoveRdma};

    std::string pf;            // bus address
    unsigned number = 0;       // of the VF in its PF
    kernel::VfSettings before; // those that were changed
    std::string device;        // bus address of the VF; empty in records of earlier versions

    [[nodiscard]] static SetVf parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
    [[nodiscard]] state::Holds holds() const { return {.device = device}; }
    [[nodiscard]] std::string describe() const;
    void revert(const RevertContext& context) const;
};

/// Reads the VF's settings and compares them with what is wanted. Throws CniError for what is no VF, or has a PF that
/// can't be asked, or an MTU below what the configuration wants, and for settings that its link layer doesn't have.
[[nodiscard]] FoundVf find_vf(const base::BusAddress& address, const cni::Request& request,
                              const config::Config& config, kernel::Socket& route);

void find_vf_settings(const PlanContext& context, Findings& found);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_vf_settings(const AddContext& context, const Findings& found);

/// Throws CniError (code 107) for what differs.
void check_vf_settings(const CheckContext& context);

} // namespace rdmanet::attach
