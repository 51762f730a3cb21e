#include <rdmanet/attach/check_node.hpp>

#include "compare.hpp"
#include "detach.hpp"
#include "port_trouble.hpp"

#include "owners/call.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/cni/cached_result.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/ipam/config.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace rdmanet::attach {
namespace {

using ipam::Liveness;
using state::AttachmentRecord;

constexpr std::string_view kAttachIpam = "ipam"; // only leases: another plugin made the interface

std::string describe_missing_netns(const AttachmentRecord& record, const ipam::Verdict& pod) {
    if (!pod.held_by.empty())
        return fmt::format("its network namespace is no longer at {}, and is {}", record.netns.path, pod.held_by);
    if (!pod.reason.empty())
        return fmt::format("its network namespace is not at {}, and it is unknown whether its pod lives: {}",
                           record.netns.path, pod.reason);
    return fmt::format("its network namespace is not at {}", record.netns.path);
}

struct Finding {
    Agreement agreement = Agreement::same;
    std::string reason;
};

class NodeChecker {
public:
    explicit NodeChecker(const Node& node)
        : call_(node, base::Deadline::in(kCheckTimeout), state::Access::undo), pods_(node) {}

    std::vector<CheckedAttachment> run() {
        std::vector<CheckedAttachment> checked;
        const auto listing = call_.records.list();
        for (const AttachmentRecord& record : listing.records) {
            bool is_attached = false;
            Finding finding = check(record, is_attached);
            checked.push_back({.name = state::describe(record),
                               .agreement = finding.agreement,
                               .reason = std::move(finding.reason),
                               .warning = is_attached ? warning_of(record) : std::string()});
        }
        for (const state::Unreadable& file : listing.unreadable)
            checked.push_back({.name = file.path,
                               .agreement = Agreement::differs,
                               .reason = fmt::format("{}: `rdmanet gc` says what to do", file.reason)});
        return checked;
    }

private:
    /// Sets `is_attached` if ADD has finished and the pod is not known to be dead, whatever the comparison finds.
    Finding check(const AttachmentRecord& seen, bool& is_attached) try {
        const auto lock = try_to_lock(seen.key);
        if (!lock) return {Agreement::not_checked, "its ADD or DEL is running"};
        const auto outcome = call_.records.load(seen.key);
        const auto* record = std::get_if<AttachmentRecord>(&outcome);
        if (record == nullptr) return {Agreement::not_checked, "its DEL has just removed it"};
        return compare(*record, is_attached);
    } catch (const cni::CniError& error) {
        return {Agreement::differs, error.what()};
    } catch (const base::Error& error) {
        return {Agreement::not_checked, error.what()};
    }

    /// A warning if the port is down. CHECK does not report that, because the attachment is as ADD left it.
    std::string warning_of(const AttachmentRecord& record) try {
        return ports_.find(record, base::Deadline::in(kCheckTimeout));
    } catch (const base::Error&) { // the comparison reports it
        return {};
    }

    std::string why_unpayable(const AttachmentRecord& record) {
        const std::string obstacle = call_.leases.find_obstacle(*record.lease_store);
        if (obstacle.empty()) return {};
        return fmt::format(". It fails as long as {}; name another kubeconfig of the same cluster in {}", obstacle,
                           ipam::kNodeFile);
    }

    std::optional<base::FileLock> try_to_lock(const state::AttachmentKey& key) try {
        return call_.records.lock(key, base::Deadline::in(std::chrono::milliseconds{0}));
    } catch (const base::TimeoutError&) {
        return std::nullopt;
    }

    Finding compare(const AttachmentRecord& record, bool& is_attached) {
        call_.deadline = base::Deadline::in(kCheckTimeout);
        const ipam::Verdict pod = pods_.probe(pod_of(record));
        if (pod == Liveness::dead)
            return {Agreement::not_checked, "its pod is dead: run `rdmanet gc` to reclaim what it has"};
        if (is_only_owing(record))
            return {Agreement::not_checked, "its DEL is done, but its addresses are not yet given back to the cluster: "
                                            "run `rdmanet gc`" +
                                                why_unpayable(record)};
        if (record.removal_unfinished)
            return {Agreement::differs,
                    pod.held_by.empty()
                        ? std::string("its DEL is unfinished: delete the pod; if it is gone, run `rdmanet gc`")
                        : fmt::format("its DEL is unfinished, because its network namespace is {}", pod.held_by)};
        if (record.phase == state::Phase::prepared)
            return {Agreement::differs,
                    "its ADD or DEL failed or was killed: delete the pod; if it is gone, run `rdmanet gc`"};
        is_attached = true;
        if (!record.leases.empty()) compare_leases(call_, record);
        if (record.attach == kAttachIpam) return {};
        const auto netns = find_netns_again(record.netns.path, record.netns);
        if (!netns) return {Agreement::not_checked, describe_missing_netns(record, pod)};
        Intended wanted = wanted_by(record);
        if (auto result = cni::find_cached_result(record.key.network, record.key.container_id, record.key.ifname))
            wanted.result = *std::move(result);
        compare_with_kernel(call_, wanted, record, *netns, record.netns.path);
        return {};
    }

    Call call_;
    PodProbe pods_;
    PortTrouble ports_;
};

} // namespace

std::string_view to_string(Agreement agreement) {
    switch (agreement) {
    case Agreement::same: return "same";
    case Agreement::differs: return "differs";
    case Agreement::not_checked: break;
    }
    return "not checked";
}

std::vector<CheckedAttachment> check_node(const Node& node) {
    return NodeChecker(node).run();
}

} // namespace rdmanet::attach
