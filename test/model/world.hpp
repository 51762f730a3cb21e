// A cluster with nodes, an administrator, and pods that have addresses. Its calls are the product's own.
#pragma once

#include "model/fake_api.hpp"
#include "model/fibers.hpp"

#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace rdmanet::model {

struct Setting {
    std::uint64_t seed = 1;
    std::size_t nodes = 2;
    int adds = 3;        // of each node
    int changes = 4;     // of the administrator
    std::string without; // the rule that is switched off
    bool is_traced = false;
};

struct Verdict {
    std::string duplicate; // which pods have one address; empty: none
    std::vector<std::string> trace;
    std::size_t requests = 0;
    std::size_t pods = 0;
};

/// One schedule, chosen by the seed.
[[nodiscard]] Verdict explore(const Setting& setting);

/// The rules of the protocol, which the product keeps: without any of them a schedule leads to a duplicate.
[[nodiscard]] const std::vector<std::string>& rules();

} // namespace rdmanet::model
