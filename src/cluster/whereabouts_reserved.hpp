// Addresses to which nothing but this node's reservations leads: no record of the journal names their pool.
#pragma once

#include "pool.hpp"
#include "whereabouts_api.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/lease.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::cluster {

/// The reservation goes last, because it alone leads to the pool. Both writes name the whole of what was seen. False:
/// look again. Throws ipam::StoreError.
[[nodiscard]] bool give_back_reserved(WhereaboutsApi& objects, const std::string& name, const Reservation& reservation,
                                      const base::Deadline& deadline);

/// Gives back what this node has reserved for the attachment, in whatever pool. What this user may not look for is only
/// a warning: it would be owed for good. Throws ipam::StoreError.
std::vector<std::pair<Place, PoolRecord>> give_back_reserved_for(const ipam::OwnerKey& key, WhereaboutsApi& objects,
                                                                 const std::function<void(const std::string&)>& warn,
                                                                 const base::Deadline& deadline);

} // namespace rdmanet::cluster
