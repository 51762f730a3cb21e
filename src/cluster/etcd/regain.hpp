// `rdmanet ipam check --repair`: what living attachments lack in etcd.
#pragma once

#include "parts.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/store.hpp>

namespace rdmanet::cluster {

/// Writes the keys of a lease again, if not all of them are there. Throws ipam::StoreError.
[[nodiscard]] ipam::Regained regain(EtcdParts& parts, const ipam::Lease& lease, const base::Deadline& deadline);

} // namespace rdmanet::cluster
