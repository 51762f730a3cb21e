// The format of leases.sqlite.
//
//   leases    an address that is given away, by (space, address)
//   cooling   an address that was released and rests until `until`, in seconds of CLOCK_BOOTTIME
//   runs      maximal runs of adjacent addresses that are in `leases` or `cooling`: the lowest free address at or after
//             x is x, or follows the run that contains x, whatever the number of leases
#pragma once

#include "database.hpp"

#include <cstdint>

namespace rdmanet::ipam {

inline constexpr std::int64_t kSchemaVersion = 1;

void create_schema(Database& database);

/// In a transaction, which has rolled back what a killed writer left. Throws DamagedStore for a file that was cut
/// short, StoreError for one that a newer version wrote.
void check_format(Database& database);

} // namespace rdmanet::ipam
