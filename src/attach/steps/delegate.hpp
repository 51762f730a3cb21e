// Addresses from another IPAM plugin.
#pragma once

#include "context.hpp"
#include "kinds.hpp"

#include <rdmanet/cni/request.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <string>
#include <string_view>

namespace rdmanet::attach {

/// Another IPAM plugin was called with ADD. Undoing it calls the plugin with DEL and the same input or, if that fails,
/// with the present configuration of DEL's caller.
struct DelegateIpam {
    static constexpr std::string_view kKind = kDelegateIpam;

    std::string plugin;
    std::string config; // the network configuration as the plugin got it on standard input
    std::string args;   // CNI_ARGS
    std::string path;   // CNI_PATH
    /// The plugin's ADD ended with its own error, so it holds nothing as far as it knows. False in records of earlier
    /// versions.
    bool refused = false;

    [[nodiscard]] static DelegateIpam parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
    [[nodiscard]] state::Holds holds() const { return {.is_for_others = true}; }
    [[nodiscard]] std::string describe() const;
    [[nodiscard]] ByHand by_hand(const base::Deadline& deadline) const;
    void revert(const RevertContext& context) const;
};

/// The step that undoes an ADD of IPAM plugin `plugin`: DEL with ADD's own configuration.
[[nodiscard]] state::Step delegate_step(const cni::Request& request, const std::string& plugin);

/// Whether the IPAM plugin refused the ADD. Then one DEL is enough, whatever the plugin answers: most often its
/// configuration is wrong, and repeating DEL would not help.
[[nodiscard]] bool is_settled_by_one_attempt(const state::Step& step);

/// Whether undoing `step` also undoes `other`: both call the same plugin with the same configuration.
[[nodiscard]] bool undoes_too(const state::Step& step, const state::Step& other);

} // namespace rdmanet::attach
