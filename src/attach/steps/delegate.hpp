// Addresses from another IPAM plugin.
#pragma once

#include "context.hpp"
#include "kinds.hpp"
#include "step.hpp"

#include <rdmanet/cni/request.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// Another IPAM plugin was called with ADD. Undone by calling it with DEL and the same input, or with the
/// configuration that the caller of DEL has by then.
struct DelegateIpam {
    static constexpr std::string_view kKind = kDelegateIpam;

    std::string plugin;
    std::string config; // the network configuration as the plugin got it on standard input
    std::string args;   // CNI_ARGS
    std::string path;   // CNI_PATH
    /// ADD ended with the plugin's own error, so it holds nothing as far as it knows itself. False in records of earlier
    /// versions.
    bool refused = false;

    [[nodiscard]] static DelegateIpam parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
    [[nodiscard]] state::Holds holds() const { return {.is_for_others = true}; }
    [[nodiscard]] std::string describe() const;
    void revert(const RevertContext& context) const;
};

/// What undoes an ADD of IPAM plugin `plugin`: DEL with the ADD's own configuration.
[[nodiscard]] state::Step delegate_step(const cni::Request& request, const std::string& plugin);

/// An IPAM plugin that refused the ADD: one DEL settles it, whatever the plugin answers. Most often its configuration
/// is wrong, which no repetition mends.
[[nodiscard]] bool is_settled_by_one_attempt(const state::Step& step);

/// Whether undoing `step` undoes `other` as well: the same plugin, called for the same attachment and network.
[[nodiscard]] bool undoes_too(const state::Step& step, const state::Step& other);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_delegate(const AddContext& context, const Findings& found);

} // namespace rdmanet::attach
