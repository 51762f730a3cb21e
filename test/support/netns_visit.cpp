#include "support/netns_visit.hpp"
#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>

#include <fcntl.h>
#include <sched.h>

#include <cerrno>
#include <exception>

namespace rdmanet::test {
namespace {

base::UniqueFd open_namespace(const std::string& path) {
    base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) throw base::SystemError(concat("open ", path), errno);
    return fd;
}

} // namespace

NetnsVisit::NetnsVisit(const std::string& path) : home_(open_namespace("/proc/thread-self/ns/net")) {
    if (::setns(open_namespace(path).get(), CLONE_NEWNET) != 0)
        throw base::SystemError(concat("enter network namespace ", path), errno);
}

NetnsVisit::~NetnsVisit() {
    if (::setns(home_.get(), CLONE_NEWNET) != 0) std::terminate();
}

} // namespace rdmanet::test
