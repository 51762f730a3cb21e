// A cluster with nodes, an administrator, and a scheduler that a seed drives: at every request it decides who goes on,
// who is killed, whose answer is lost or late, and what the administrator does.
#pragma once

#include "model/rules.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rdmanet::model {

struct Setting {
    std::uint64_t seed = 1;
    Rule without = Rule::none;
    bool is_traced = false;
};

struct Verdict {
    std::string duplicate; // which pods have one address; empty: none
    std::vector<std::string> trace;
};

/// One schedule.
[[nodiscard]] Verdict explore(const Setting& setting);

} // namespace rdmanet::model
