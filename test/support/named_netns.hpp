// Makes named network namespaces like ip-netns(8), without a process for it.
#pragma once

#include <string>

namespace rdmanet::test {

/// Makes a namespace at /run/netns/NAME and sets its loopback up. Throws base::SystemError.
void add_netns(const std::string& name);
/// Removes the name. The namespace ends with its last user. Throws base::SystemError if the name does not exist.
void delete_netns(const std::string& name);

} // namespace rdmanet::test
