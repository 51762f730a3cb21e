#include <rdmanet/attach/node.hpp>

#include "clusters.hpp"

#include "steps/registry.hpp"

#include <rdmanet/kernel/live_namespaces.hpp>

namespace rdmanet::attach {

Node::Node(std::string directory, base::Logger logger)
    : state_directory(std::move(directory)), read_step(attach::read_step), boot_id(kernel::boot_id()),
      view(kernel::read_proc_view()), log(std::move(logger)), clusters(std::make_shared<Clusters>()) {}

} // namespace rdmanet::attach
