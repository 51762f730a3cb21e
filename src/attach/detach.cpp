#include "detach.hpp"

#include "leases.hpp"
#include "steps.hpp"

#include <rdmanet/base/text.hpp>

namespace rdmanet::attach {
namespace {

/// Runs `act`; a failure becomes a sentence instead of ending the rest.
template <class Act>
void attempt(StillHeld& held, std::string_view what, Act&& act) {
    try {
        act();
    } catch (const base::Error& error) {
        held.push_back(base::concat(what, ": ", error.what()));
    }
}

} // namespace

StillHeld detach(const state::AttachmentRecord& record, const std::string& netns_path, const Node& node,
                 const state::AttachmentStore& records, ipam::SqliteStore& leases, const base::Deadline& deadline) {
    StillHeld held;
    const RevertContext context{.record = record, .netns_path = netns_path, .deadline = deadline};
    for (auto step = record.steps.rbegin(); step != record.steps.rend(); ++step)
        attempt(held, describe(*step), [&] { revert(*step, context); });
    attempt(held, "addresses", [&] { release_leases(leases, record.key, node, deadline); });
    if (held.empty()) attempt(held, "journal record", [&] { records.remove(record.key); });
    return held;
}

cni::CniError still_held_error(const StillHeld& held) {
    std::string message = "still held: ";
    for (const std::string& what : held) message += base::concat(&what == held.data() ? "" : "; ", what);
    return {cni::ErrorCode::still_held, message};
}

} // namespace rdmanet::attach
