// The rights that the manifests in conf-examples grant.
#pragma once

#include <string>
#include <vector>

namespace rdmanet::test {

struct Right {
    std::string group;
    std::string resource;
    std::string verb;

    bool operator==(const Right&) const = default;
    /// As the API server says that it is missing.
    [[nodiscard]] std::string refusal() const { return "cannot " + verb + " resource \"" + resource + '"'; }
};

/// Of conf-examples/FILE, what the Roles and ClusterRoles grant that are called `role`; without one, what all grant.
[[nodiscard]] std::vector<Right> rights_of_example(const std::string& file, const std::string& role = {});

/// As the "rules" of a role.
[[nodiscard]] std::string rules_text(const std::vector<Right>& rights);

[[nodiscard]] std::vector<Right> without(const Right& missing, std::vector<Right> rights);

} // namespace rdmanet::test
