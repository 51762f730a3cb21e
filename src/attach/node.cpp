#include <rdmanet/attach/node.hpp>

#include <rdmanet/kernel/live_namespaces.hpp>

namespace rdmanet::attach {

Node::Node(std::string directory, base::Logger logger)
    : state_directory(std::move(directory)), boot_id(kernel::boot_id()),
      pid_namespace_inode(kernel::pid_namespace_inode()), log(std::move(logger)) {}

} // namespace rdmanet::attach
