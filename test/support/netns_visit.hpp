// Enters a network namespace like ip-netns(8), without a process for it.
#pragma once

#include <rdmanet/base/unique_fd.hpp>

#include <string>

namespace rdmanet::test {

/// The calling thread is in the namespace at `path` until the end of the scope. If it cannot return, the process
/// ends, because everything later would look at the wrong namespace.
class NetnsVisit {
public:
    explicit NetnsVisit(const std::string& path);
    NetnsVisit(const NetnsVisit&) = delete;
    NetnsVisit& operator=(const NetnsVisit&) = delete;
    ~NetnsVisit();

private:
    base::UniqueFd home_;
};

} // namespace rdmanet::test
