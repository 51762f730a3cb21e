// Whether an RDMA port is active. One that isn't is a warning, or the end of the ADD, as the policy says.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>

#include <optional>
#include <string>

namespace rdmanet::attach {

/// `port 1 of RDMA device "mlx5_0" is not active: state down, physical state disabled; ` and the cure. `interface` is
/// the one that the port is on.
[[nodiscard]] std::string inactive_port_text(const kernel::RdmaPort& port, const std::string& interface);

/// Throws CniError, or logs a warning, unless the port is active. `interface` is its own, for the message.
void require_active_port(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, const std::string& interface,
                         const base::Logger& log);

/// The same for a parent that is an IPoIB interface.
void require_active_port_of_ipoib(const config::RdmaPolicy& policy, const kernel::Link& parent, const base::Logger& log,
                                  const base::Deadline& deadline);

/// The port that an IPoIB interface of the host is on.
[[nodiscard]] std::optional<kernel::RdmaPort> find_port_of_ipoib(kernel::Socket& rdma, const kernel::Link& link);

/// The port as it is once it is active, or when time is over; as it was if its device has gone. A driver that brings up
/// a VF gets its link at once or some milliseconds later, an InfiniBand VF's is active when the subnet manager has been
/// there.
[[nodiscard]] kernel::RdmaPort wait_for_active(kernel::Socket& rdma, kernel::RdmaPort port,
                                               const config::RdmaPolicy& policy, const base::Deadline& deadline);

/// Throws CniError, or logs a warning, as the policy says.
void complain_of_port(const config::RdmaPolicy& policy, const std::string& what, const base::Logger& log);

} // namespace rdmanet::attach
