#include "held.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/http/pause.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace rdmanet::cluster {
namespace {

using Need = Judgement::Need;

/// One kind of things, their rule, and how long its two looks are apart.
struct Domain {
    Inventory (*read)(kube::Api&, const base::Deadline&);
    std::chrono::seconds apart;
    const char* one;
    const char* several;
};

constexpr Domain kDomains[] = {
    {.read = read_records,
     .apart = kApart,
     .one = "record of a pod that is gone",
     .several = "records of pods that are gone"},
    {.read = read_blocks,
     .apart = kBlocksApart,
     .one = "block of a node that is gone",
     .several = "blocks of nodes that are gone"},
};

bool is_block(const Held& held) {
    return std::holds_alternative<BlockObject>(held.what);
}

/// One server may be the reason in several domains.
void note_failure(const std::string& why, Reconciled& result) {
    if (result.failure.find(why) != std::string::npos) return;
    result.failure += fmt::format("{}{}", result.failure.empty() ? "" : "; ", why);
}

class Reconciler {
public:
    Reconciler(kube::Api& api, const ReconcileOptions& options, const base::Deadline& deadline, Reconciled& into)
        : api_(api), options_(options), deadline_(deadline), into_(into), view_(api, options.unknown_node) {}

    void run() {
        std::vector<std::pair<Domain, Look>> first;
        for (const Domain& domain : kDomains) attempt([&] { first.emplace_back(domain, look(domain)); });
        const std::int64_t since = has_any(first) ? view_.now(deadline_) : 0;
        for (auto& [one, look] : first)
            attempt([&, &domain = one, &found = look] {
                if (found.gone.empty() || options_.act == ReconcileOptions::Act::only_looks)
                    report(found, found.gone);
                else
                    free_those_seen_twice(domain, found, since + domain.apart.count());
            });
    }

private:
    /// What one look finds.
    struct Look {
        Reconciled counted; // all but `freed`
        std::vector<Held> gone;
    };

    /// What one domain's server refuses does not keep the others from being freed.
    template <class Act>
    void attempt(const Act& act) {
        try {
            act();
        } catch (const base::Error& error) {
            note_failure(error.what(), into_);
        }
    }

    static bool has_any(const std::vector<std::pair<Domain, Look>>& looks) {
        return std::any_of(looks.begin(), looks.end(), [](const auto& one) { return !one.second.gone.empty(); });
    }

    Look look(const Domain& domain) {
        view_.forget();
        Look look;
        Inventory inventory = domain.read(api_, deadline_);
        if (inventory.pools) into_.seen.pools = inventory.pools;
        if (inventory.blocks) into_.seen.blocks = inventory.blocks;
        look.counted.foreign = inventory.foreign;
        look.counted.unreadable = inventory.unreadable;
        for (Held& held : inventory.held) {
            Judgement judgement = judge(held);
            if (judgement.need == Need::there) {
                ++look.counted.needed;
                continue;
            }
            held.left.rule = std::move(judgement.rule);
            held.left.why = std::move(judgement.why);
            if (judgement.need == Need::none)
                look.gone.push_back(std::move(held));
            else
                look.counted.kept.push_back(std::move(held.left));
        }
        return look;
    }

    Judgement judge(const Held& held) {
        if (!is_block(held)) return view_.judge(held.holder, deadline_);
        if (!view_.is_node_gone(held.holder.node_uid, held.holder.boot_id, deadline_)) return {.need = Need::there};
        return {.need = Need::none,
                .rule = "node-gone",
                .why = fmt::format("no Node has UID {}, and none reports boot {}", held.holder.node_uid,
                                   held.holder.boot_id)};
    }

    void free_those_seen_twice(const Domain& domain, const Look& first, std::int64_t not_before) {
        wait_until(not_before, base::counted(first.gone.size(), domain.one, domain.several));
        std::set<std::string> seen;
        for (const Held& held : first.gone) seen.insert(held.identity);
        Look second = look(domain);
        std::vector<Held> twice;
        for (Held& held : second.gone) {
            if (seen.contains(held.identity))
                twice.push_back(std::move(held));
            else
                keep(held.left, "it was not so at the first look");
        }
        report(second, {});
        for (Held& held : twice) free(held);
    }

    void free(Held& held) {
        std::string why = why_needed_now(held);
        if (why.empty()) why = give_back(api_, held, deadline_);
        if (!why.empty()) return keep(held.left, std::move(why));
        into_.freed.push_back(std::move(held.left));
    }

    /// By a look right before it is freed: many take their time. Empty: nobody needs it.
    std::string why_needed_now(const Held& held) {
        if (is_block(held)) {
            view_.look_again_at_node(held.holder.node_name, deadline_);
            return judge(held).need == Need::there ? "its node is there again" : "";
        }
        const Judgement now = view_.judge_anew(held.holder, deadline_);
        if (now.need == Need::none) return {};
        return now.need == Need::there ? "its pod is there again" : now.why;
    }

    void keep(Left& left, std::string why) {
        left.rule.clear();
        left.why = std::move(why);
        into_.kept.push_back(std::move(left));
    }

    void report(Look& look, std::vector<Held> freed) {
        into_.needed += look.counted.needed;
        into_.foreign += look.counted.foreign;
        into_.unreadable += look.counted.unreadable;
        for (Left& left : look.counted.kept) into_.kept.push_back(std::move(left));
        for (Held& held : freed) into_.freed.push_back(std::move(held.left));
    }

    /// By the server's clock.
    void wait_until(std::int64_t date, const std::string& what) {
        constexpr std::int64_t kLongestPause = 10; // the clock may be set
        bool has_said = false;
        for (;;) {
            const std::int64_t left = date - view_.now(deadline_);
            if (left <= 0) return;
            if (!std::exchange(has_said, true) && options_.note)
                options_.note(fmt::format("{}: looking again in {} s", what, left));
            if (deadline_.remaining() < std::chrono::seconds(left))
                throw base::TimeoutError(fmt::format("waited for the API server's clock, to look again at {}", what));
            http::pause(std::chrono::seconds(std::min(left, kLongestPause)));
        }
    }

    kube::Api& api_;
    const ReconcileOptions& options_;
    const base::Deadline& deadline_;
    Reconciled& into_;
    ClusterView view_;
};

} // namespace

Reconciled reconcile(kube::Api& api, const ReconcileOptions& options, const base::Deadline& deadline) {
    Reconciled result;
    result.seen.name_space = Survey(api).name_space();
    try {
        Reconciler(api, options, deadline, result).run();
    } catch (const base::Error& error) {
        note_failure(error.what(), result);
    }
    return result;
}

} // namespace rdmanet::cluster
