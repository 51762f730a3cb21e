// Name service as configurations and results name it.
#pragma once

#include <string>
#include <vector>

namespace rdmanet::base {

struct Dns {
    std::vector<std::string> nameservers;
    std::string domain;
    std::vector<std::string> search;
    std::vector<std::string> options;

    [[nodiscard]] bool empty() const {
        return nameservers.empty() && domain.empty() && search.empty() && options.empty();
    }
};

} // namespace rdmanet::base
