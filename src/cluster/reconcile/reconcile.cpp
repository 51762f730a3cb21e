#include "reconciled.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/http/pause.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace rdmanet::cluster {
namespace {

using Act = ReconcileOptions::Act;

/// One server may be the reason in several parts.
void note_failure(const std::string& why, Reconciled& result) {
    if (result.failure.find(why) != std::string::npos) return;
    result.failure += fmt::format("{}{}", result.failure.empty() ? "" : "; ", why);
}

class Reconciler {
public:
    Reconciler(kube::Api& api, const ReconcileOptions& options, const base::Deadline& deadline, Reconciled& into)
        : api_(api), options_(options), deadline_(deadline), into_(into), view_(api),
          pools_(api, into.seen.name_space) {}

    /// What is refused for one part does not keep the other.
    void run() {
        std::optional<Check> first;
        attempt([&] { first = check(); });
        attempt([&] { ReconciledBlocks(api_, options_.act, into_).run(view_, deadline_); });
        if (first) attempt([&] { free_what_is_left_twice(*first); });
    }

private:
    /// What one check of the pools finds.
    struct Check {
        PoolLeases all;
        std::vector<PoolLease> left;
    };

    template <class Part>
    void attempt(const Part& part) {
        try {
            part();
        } catch (const base::Error& error) {
            note_failure(error.what(), into_);
        }
    }

    void free_what_is_left_twice(Check& first) {
        if (first.left.empty() || options_.act == Act::only_looks) {
            count(first);
            for (PoolLease& lease : first.left) into_.freed.push_back(std::move(lease.left));
            return;
        }
        wait_until(view_.now(deadline_) + kApart.count(), first.left.size());
        std::set<std::string> seen;
        for (const PoolLease& lease : first.left) seen.insert(lease.identity());
        Check second = check();
        count(second);
        std::vector<PoolLease> twice;
        for (PoolLease& lease : second.left)
            if (seen.contains(lease.identity()))
                twice.push_back(std::move(lease));
            else
                tell(lease, "it was not so at the first check");
        pools_.free(
            std::move(twice), [this](PoolLease& lease, const std::string& why) { tell(lease, why); }, deadline_);
    }

    Check check() {
        Check check{.all = pools_.list(deadline_)};
        into_.seen.pools = check.all.pools;
        view_.forget();
        for (PoolLease& lease : check.all.leases)
            if (is_left(lease)) check.left.push_back(std::move(lease));
        return check;
    }

    /// A node that is there decides for itself, by the network namespace: a pod that was deleted by force may still
    /// run. A lease has the UID of its Node once that has reported the lease's boot. Without it, the boot that the Node
    /// reports may be the earlier one, so that only the pod's end counts.
    bool is_left(PoolLease& lease) {
        if (!lease.holder.boot_id.empty()) {
            const NodeFate fate = view_.fate_of(lease.holder, deadline_);
            lease.left.rule = fmt::format("node-{}", word_of(fate));
            lease.left.why = describe(fate, lease.holder);
            if (fate != NodeFate::over || !lease.holder.uid.empty()) return fate != NodeFate::there;
        }
        lease.left.rule = "pod-name";
        lease.left.why = fmt::format("there is no pod {}", lease.left.pod);
        return !view_.has_pod(lease.pod_namespace, lease.pod_name, deadline_);
    }

    void count(const Check& check) {
        into_.needed += check.all.leases.size() - check.left.size();
        into_.foreign += check.all.foreign;
        into_.unreadable += check.all.unreadable;
    }

    void tell(PoolLease& lease, const std::string& why_kept) {
        if (why_kept.empty()) return into_.freed.push_back(std::move(lease.left));
        lease.left.rule.clear();
        lease.left.why = why_kept;
        into_.kept.push_back(std::move(lease.left));
    }

    /// By the server's clock.
    void wait_until(std::int64_t date, std::size_t leases) {
        constexpr std::int64_t kLongestPause = 10; // the clock may be set
        const std::string what = base::counted(leases, "lease of a pod that is gone", "leases of pods that are gone");
        bool has_said = false;
        for (;;) {
            const std::int64_t left = date - view_.now(deadline_);
            if (left <= 0) return;
            if (!std::exchange(has_said, true) && options_.note)
                options_.note(fmt::format("{}: checking again in {} s", what, left));
            if (deadline_.remaining() < std::chrono::seconds(left))
                throw base::TimeoutError(fmt::format("waited for the API server's clock, to check again {}", what));
            http::pause(std::chrono::seconds(std::min(left, kLongestPause)));
        }
    }

    kube::Api& api_;
    const ReconcileOptions& options_;
    const base::Deadline& deadline_;
    Reconciled& into_;
    ClusterView view_;
    ReconciledPools pools_;
};

} // namespace

Reconciled reconcile(kube::Api& api, const ReconcileOptions& options, const base::Deadline& deadline) {
    Reconciled result;
    const std::string& named = api.access().name_space;
    result.seen.name_space = named.empty() ? "kube-system" : named;
    Reconciler(api, options, deadline, result).run();
    return result;
}

} // namespace rdmanet::cluster
