#include <rdmanet/attach/node.hpp>

#include <rdmanet/kernel/live_namespaces.hpp>

namespace rdmanet::attach {

Node::Node(std::string directory, base::Logger logger)
    : leases::Node(std::move(directory), kernel::boot_id(), std::move(logger)), view(kernel::read_proc_view()) {}

} // namespace rdmanet::attach
