// Whether an RDMA port is active. The policy decides whether an inactive port is a warning or an error.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>

#include <optional>
#include <string>

namespace rdmanet::attach {

/// `port 1 of RDMA device "mlx5_0" is not active: state down, physical state disabled; ` and the fix. `interface` is
/// the port's net device.
[[nodiscard]] std::string inactive_port_text(const kernel::RdmaPort& port, const std::string& interface);

/// Throws CniError or logs a warning if the port is not active. `interface` is its net device, for the message.
void require_active_port(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, const std::string& interface,
                         const base::Logger& log);

/// The same for the port of an IPoIB parent.
void require_active_port_of_ipoib(const config::RdmaPolicy& policy, const kernel::Link& parent, const base::Logger& log,
                                  const base::Deadline& deadline);

/// The port of an IPoIB interface on the host.
[[nodiscard]] std::optional<kernel::RdmaPort> find_port_of_ipoib(kernel::Socket& rdma, const kernel::Link& link);

/// Waits until the port is active or the policy's time is over, and returns its last state. The port of a VF becomes
/// active some milliseconds after the driver is bound; on InfiniBand, after the subnet manager has configured it.
[[nodiscard]] kernel::RdmaPort wait_for_active(kernel::Socket& rdma, kernel::RdmaPort port,
                                               const config::RdmaPolicy& policy, const base::Deadline& deadline);

/// Throws CniError or logs a warning, as the policy says.
void refuse_or_warn_of_port(const config::RdmaPolicy& policy, const std::string& what, const base::Logger& log);

} // namespace rdmanet::attach
