// Which packets the pod's interface receives beside its own: "promisc" and "allmulti", as the plugin tuning calls them.
#include "kinds.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

namespace rdmanet::attach {
namespace {

using base::quoted;

struct Mode {
    const char* key; // in the configuration and in `ip link`
    std::optional<bool> config::Config::*wanted;
    bool (kernel::Link::*is_on)() const;
};

constexpr Mode kModes[] = {
    {"promisc", &config::Config::promiscuous, &kernel::Link::is_promiscuous},
    {"allmulti", &config::Config::all_multicast, &kernel::Link::is_all_multicast},
};

const char* on_or_off(bool is_on) {
    return is_on ? "on" : "off";
}

/// The host's value returns with the device (DeviceBaseline), or ends with the child.
class ReceiveMode final : public Step {
public:
    void describe(const Call& call, Description& description) const override {
        for (const Mode& mode : kModes)
            if (const auto& wanted = call.config->*mode.wanted)
                description.add.push_back(fmt::format("switch {} {}", mode.key, on_or_off(*wanted)));
    }

    void apply(const Call& call, Progress& progress) override {
        kernel::change_link(
            call.pod->route, progress.link->ifindex,
            {.promiscuous = call.config->promiscuous, .all_multicast = call.config->all_multicast, .netns = nullptr});
    }
};

} // namespace

std::unique_ptr<Step> ReceiveModeKind::make(const Call& call, const Findings& found) {
    const bool is_wanted = call.config->promiscuous || call.config->all_multicast;
    return is_wanted && found.has_interface() ? std::make_unique<ReceiveMode>() : nullptr;
}

void ReceiveModeKind::check(const Comparison& compared) {
    if (compared.wanted.config == nullptr || !has_netdev(compared.record)) return;
    const kernel::Link& link = require_link(compared);
    for (const Mode& mode : kModes) {
        const auto& wanted = compared.wanted.config->*mode.wanted;
        if (wanted && (link.*mode.is_on)() != *wanted)
            differs(fmt::format("interface {} has {} {}, expected {} (\"{}\")", quoted(link.name), mode.key,
                                on_or_off(!*wanted), on_or_off(*wanted), mode.key),
                    kDeletePod);
    }
}

} // namespace rdmanet::attach
