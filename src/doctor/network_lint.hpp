// What is wrong with a network before a pod asks for it.
#pragma once

#include "context.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::doctor {

struct Network {
    std::string place;                     // "kube-system/roce", or a file
    std::string name{};                    // of the definition: Multus gives it to a configuration without one
    std::string text;                      // its JSON
    bool is_definition = false;            // of the whole cluster, not of this node alone
    std::optional<std::string> resource{}; // whose devices Multus passes on
};

/// The parents of networks with macvlan or ipvlan children. A parent can have one kind of them at a time (EBUSY).
class SharedParents {
public:
    /// `kind` is "macvlan" or "ipvlan".
    void take(const Network& network, const std::string& parent, std::string_view kind);
    /// One finding for each network that does not go with an earlier one.
    void report(Findings& found) const;

private:
    struct Use {
        std::string place;
        bool is_definition;
        std::string parent;
        std::string_view kind;
    };
    std::vector<Use> uses_;
};

/// Reports what ADD would refuse, and what does not fit to this node. Returns the capabilities that the network does
/// not declare and that a pod may want, in quotes. A network that does not name rdmanet has none of that.
[[nodiscard]] std::vector<std::string> examine_network(const Network& network, const Context& context,
                                                       SharedParents& parents, Findings& found);

} // namespace rdmanet::doctor
