// libcni's copy of an ADD's result: the result of the whole chain, which libcni sends as prevResult with CHECK and
// DEL.
#pragma once

#include <rdmanet/cni/result.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::cni {

/// Where libcni writes it for container runtimes and for Multus.
[[nodiscard]] const std::vector<std::string>& default_result_caches();

/// The result of the attachment's ADD, from the first of `directories` that has it (libcni/api.go, cacheAdd()).
/// nullopt if none has a readable one.
[[nodiscard]] std::optional<Result>
find_cached_result(std::string_view network, std::string_view container_id, std::string_view ifname,
                   const std::vector<std::string>& directories = default_result_caches());

} // namespace rdmanet::cni
