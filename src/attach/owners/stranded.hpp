// Devices in network namespaces that nobody can reach.
//
// A namespace that no process is in and no mount keeps lives on while somebody has a descriptor of it open: a runtime
// or plugin that leaks one. The devices in it are lost to the node, and to whoever asks for the next pod; neither the
// host nor any pod shows them. GC can't take them back, because the holder may be about to use what it holds, and
// doesn't try: it says which they are, and who holds them.
//
// Nothing is said where it can't be known: by a process that does not see all others.
#pragma once

#include <rdmanet/base/deadline.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// One sentence for each such device, with the cure. Where one is in no namespace at all that can be found, the kernel
/// gets some time to return it, as it does when a pod has just gone. Throws base::SystemError.
[[nodiscard]] std::vector<std::string> describe_stranded_devices(const base::Deadline& deadline);

} // namespace rdmanet::attach
