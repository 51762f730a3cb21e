#include "guid_claim.hpp"

#include "lookup/device_usable.hpp"
#include "lookup/vf.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/state/topic.hpp>

#include <optional>

namespace rdmanet::attach {
namespace {

/// A VF whose PF cannot be read does not count as a user of the GUID.
std::optional<kernel::VfId> find_user(const base::PciAddress& vf, const base::Guid& guid, kernel::Socket& route) try {
    const auto of = kernel::find_pf_of(vf);
    auto id = of ? find_vf_id(*of, route) : std::nullopt;
    const auto settings = id ? kernel::find_vf(route, *id) : std::nullopt;
    return settings && settings->port_guid == guid ? std::move(id) : std::nullopt;
} catch (const base::Error&) {
    return std::nullopt;
}

/// Who has the VF, and what to do.
std::string describe_owner(const base::PciAddress& vf, const Call& call) {
    for (const state::AttachmentRecord& record : call.records.list_about(state::device_topic(vf.to_string())))
        return fmt::format("which the attachment ({}) has: request another GUID; if that pod is gone, run `rdmanet gc`",
                           state::describe(record));
    return "which no attachment of rdmanet has: request another GUID";
}

} // namespace

void require_unused_guid(const base::BusAddress& address, const base::Guid& guid, const Call& call,
                         kernel::Socket& route) {
    for (const base::PciAddress& other : kernel::list_vfs()) {
        if (other.to_string() == address.to_string()) continue;
        if (const auto user = find_user(other, guid, route))
            refuse_device(address, fmt::format("cannot get GUID {}, because it is that of device {}, {}, {}", guid,
                                               other, *user, describe_owner(other, call)));
    }
}

} // namespace rdmanet::attach
