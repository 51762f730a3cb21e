// Why RDMA does not work between the two ends.
#pragma once

#include <rdmanet/base/error.hpp>

#include <string>
#include <utility>

namespace rdmanet::verify {

/// what() has the thing and the value found.
class Failure : public base::Error {
public:
    Failure(std::string what, std::string cure) : Error(std::move(what)), cure_(std::move(cure)) {}
    [[nodiscard]] const std::string& cure() const { return cure_; }

private:
    std::string cure_;
};

/// The other end has found it and said so, so it need not be told.
class PeersFailure : public Failure {
public:
    using Failure::Failure;
};

} // namespace rdmanet::verify
