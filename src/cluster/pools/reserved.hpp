// Addresses to which nothing but this node's reservations leads: no record of the journal names their pool.
#pragma once

#include "api.hpp"
#include "pool.hpp"

#include <rdmanet/base/deadline.hpp>

#include <string>

namespace rdmanet::cluster {

/// The reservation goes last, because it alone leads to the pool. Both writes name the whole of what was seen. False:
/// look again. Throws ipam::StoreError.
[[nodiscard]] bool give_back_reserved(WhereaboutsApi& objects, const std::string& name, const Reservation& reservation,
                                      const base::Deadline& deadline);

} // namespace rdmanet::cluster
