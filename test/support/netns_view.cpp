#include "support/netns_view.hpp"

#include "support/netns_lines.hpp"
#include "support/netns_visit.hpp"

namespace rdmanet::test {

std::string NetnsView::bytes() const {
    const NetnsVisit visit(path_);
    std::string out;
    for (const std::string& line : netns_lines(Numbers::compared).lines) out += line + '\n';
    return out;
}

} // namespace rdmanet::test
