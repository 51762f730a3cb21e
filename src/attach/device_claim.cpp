#include "device_claim.hpp"

#include "detach.hpp"
#include "liveness.hpp"
#include "steps.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <optional>

namespace rdmanet::attach {
namespace {

using base::concat;
using state::AttachmentRecord;

/// Some other attachment that has the device.
std::optional<AttachmentRecord> find_owner(const Session& session, const std::string& device) {
    for (AttachmentRecord& record : session.records.list().records)
        if (record.key != session.key && record.device() == device) return std::move(record);
    return std::nullopt;
}

} // namespace

void take_from_the_dead(const base::BusAddress& address, Session& session, const base::Deadline& deadline) {
    const auto owner = find_owner(session, address.to_string());
    if (!owner) return;
    Undertaker undertaker(session.node);
    const StillHeld held = detach_dead(owner->key, undertaker, session.node, session.records, session.leases, deadline);
    if (!held.empty())
        throw cni::CniError(cni::ErrorCode::parent,
                            concat("device ", address, " is not yet what it was before a pod that is gone (",
                                   describe(*owner), "): ", held.front()));
}

base::FileLock claim_device(const base::BusAddress& address, const Session& session, const base::Deadline& deadline) {
    base::FileLock claim = session.records.lock_device(address.to_string(), deadline);
    const auto owner = find_owner(session, address.to_string());
    if (owner)
        throw cni::CniError(cni::ErrorCode::parent,
                            concat("device ", address, " belongs to another attachment (", describe(*owner),
                                   "), whose pod is not provably gone: DEL of that one gives it back"));
    return claim;
}

} // namespace rdmanet::attach
