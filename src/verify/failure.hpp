// Why RDMA does not work between the two ends.
#pragma once

#include <rdmanet/base/error.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace rdmanet::verify {

/// What a failure casts doubt on.
enum class Suspect : std::uint8_t {
    unknown,
    way, // packets do not arrive, so routes and MTU matter
};

/// what() has the thing and the value found.
class Failure : public base::Error {
public:
    Failure(std::string what, std::string fix, Suspect suspect = Suspect::unknown)
        : Error(std::move(what)), fix_(std::move(fix)), suspect_(suspect) {}
    [[nodiscard]] const std::string& fix() const { return fix_; }
    [[nodiscard]] Suspect suspect() const { return suspect_; }

private:
    std::string fix_;
    Suspect suspect_;
};

/// The other end has found it and said so, so it need not be told.
class PeersFailure : public Failure {
public:
    using Failure::Failure;
};

} // namespace rdmanet::verify
