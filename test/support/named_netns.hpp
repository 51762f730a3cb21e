// Named network namespaces as ip-netns(8) makes them, without a process for it.
#pragma once

#include <string>

namespace rdmanet::test {

/// A new namespace at /run/netns/NAME, its loopback up. Throws base::SystemError.
void add_netns(const std::string& name);
/// The name goes, and the namespace with the last who uses it. Throws base::SystemError if there is none.
void delete_netns(const std::string& name);

} // namespace rdmanet::test
