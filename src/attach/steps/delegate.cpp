#include "delegate.hpp"

#include "kinds.hpp"

#include "owners/liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/delegate.hpp>
#include <rdmanet/cni/error.hpp>

#include <utility>
#include <variant>

namespace rdmanet::attach {
namespace {

using base::quoted;
using state::DelegateIpam;

/// The path at which the recorded namespace still is; empty if it is gone.
std::string path_of_netns(const Undo& undo) {
    for (std::string path : {undo.record.netns.path, undo.call.netns_path()})
        if (find_netns_again(path, undo.record.netns)) return path;
    return {};
}

void delegate_del_with(const std::string& config, const DelegateIpam& step, const Undo& undo) {
    const state::AttachmentRecord& record = undo.record;
    const cni::Request* request = undo.call.request; // the plugins may have moved since ADD
    cni::delegate_del({.plugin = step.plugin,
                       .config = config,
                       .container_id = record.key.container_id,
                       .netns_path = path_of_netns(undo),
                       .ifname = record.key.ifname,
                       .args = step.args,
                       .path = request == nullptr || request->path_text.empty()
                                   ? step.path
                                   : fmt::format("{}:{}", request->path_text, step.path)},
                      undo.call.deadline);
}

cni::Result ask_delegate(const cni::Request& request, const DelegateIpam& step, const base::Deadline& deadline) {
    cni::Result result = cni::delegate_add(cni::delegate_call(request, step.plugin), deadline);
    if (result.ips.empty())
        throw cni::CniError(cni::ErrorCode::delegate,
                            fmt::format("IPAM plugin {} returned no address: give \"ipam\" a range, or look into the "
                                        "runtime's log",
                                        quoted(step.plugin)));
    return result;
}

class Delegate final : public RecordedStep<DelegateIpam> {
public:
    using RecordedStep::RecordedStep;

    void describe(const Call& /*call*/, Description& description) const override {
        description.add.push_back(fmt::format("call IPAM plugin {}, which gives the addresses", quoted(step_.plugin)));
    }
    void apply(const Call& call, Progress& progress) override {
        try {
            progress.own = ask_delegate(*call.request, step_, call.deadline);
        } catch (const cni::PluginError&) {
            step_.refused = true;
            throw;
        }
    }
};

} // namespace

std::unique_ptr<Step> DelegateKind::make(const Call& call, const Findings& /*found*/) {
    const auto* other = std::get_if<config::DelegatedIpam>(&call.config->ipam);
    if (other == nullptr) return nullptr;
    return std::make_unique<Delegate>(delegate_step(*call.request, other->plugin));
}

std::string DelegateKind::describe(const Recorded& step) {
    return fmt::format("addresses of IPAM plugin {}", quoted(step.plugin));
}

ByHand DelegateKind::by_hand(const Recorded& /*step*/, const base::Deadline& /*deadline*/) {
    return {.text = "that plugin keeps them: once the pod is gone, call it with CNI_COMMAND=DEL, this container and "
                    "interface, and the recorded configuration on standard input",
            .needs_record = true};
}

/// If the plugin cannot read the recorded configuration, it releases nothing. So DEL is repeated with the caller's
/// configuration, which may be corrected. The plugin finds the pod's addresses by container and interface.
void DelegateKind::revert(const Recorded& step, const Undo& undo) {
    const cni::Request* request = undo.call.request;
    try {
        delegate_del_with(step.config, step, undo);
    } catch (const base::Error& error) {
        if (request == nullptr || request->conf.ipam_type != step.plugin || request->stdin_text == step.config) throw;
        const std::string with_own = error.what();
        try {
            delegate_del_with(request->stdin_text, step, undo);
        } catch (base::Error& again) {
            again.add_context(again.what() == with_own ? "with the recorded and with the present configuration"
                                                       : fmt::format("{}; with the present configuration", with_own));
            throw;
        }
    }
}

state::DelegateIpam delegate_step(const cni::Request& request, const std::string& plugin) {
    return {.plugin = plugin, .config = request.stdin_text, .args = request.args_text, .path = request.path_text};
}

bool is_settled_by_one_attempt(const state::Step& step) {
    const auto* delegate = std::get_if<DelegateIpam>(&step);
    return delegate != nullptr && delegate->refused;
}

bool undoes_too(const state::Step& step, const state::Step& other) {
    const auto* ours = std::get_if<DelegateIpam>(&step);
    const auto* theirs = std::get_if<DelegateIpam>(&other);
    return ours != nullptr && theirs != nullptr && ours->plugin == theirs->plugin && ours->config == theirs->config;
}

} // namespace rdmanet::attach
