#include "left_alone.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

namespace rdmanet::cluster {

LeftAlone::LeftAlone(const BlocksStore::Options& options)
    : memory_(options.state_directory, options.boot_id, "cluster-left",
              fmt::format("{}\n{}", options.kubeconfig, options.node_name)) {}

std::optional<std::int64_t> LeftAlone::since() const {
    const auto noted = memory_.find();
    return noted ? base::parse_integer<std::int64_t>(*noted) : std::nullopt;
}

void LeftAlone::note(std::int64_t now) const {
    if (!since()) memory_.note(fmt::format("{}", now));
}

} // namespace rdmanet::cluster
