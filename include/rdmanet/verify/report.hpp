// What a run of the test has shown.
#pragma once

#include <rdmanet/verify/check.hpp>
#include <rdmanet/verify/endpoint.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::verify {

/// How much of the way to another node's pod the packets have gone.
enum class Scope : std::uint8_t {
    device,  // one interface with itself: device, driver, GID
    node,    // two interfaces of one node: often only the NIC's own switch
    network, // two nodes
};
[[nodiscard]] std::string_view to_string(Scope scope);

/// The client decides when a stage begins. Both ends report.
enum class Role : std::uint8_t { client, server };
[[nodiscard]] std::string_view to_string(Role role);

/// Messages with SEND and RECEIVE there and back, whose content was compared.
struct Ping {
    unsigned messages = 0;
    unsigned bytes = 0; // of each
};

/// RDMA WRITE from client to server.
struct Bandwidth {
    double rate = 0;         // Gb/s, without headers
    std::uint64_t bytes = 0; // in all
    unsigned size = 0;       // bytes of each
};

/// RDMA WRITE there and back: half of the time.
struct Latency {
    double typical = 0; // microseconds; the median
    double slow = 0;    // microseconds; 99 of 100 are faster
    unsigned rounds = 0;
    unsigned size = 0; // bytes of each
};

/// What ended the test.
struct Cause {
    std::string stage; // "control", "connect", "ping", "bandwidth", "latency", or the check that failed: "peer"
    std::string what;
    std::string fix;
};

enum class Verdict : std::uint8_t {
    proven,
    limited, // it works, with warnings or with less bandwidth than expected
    failed,
};
[[nodiscard]] std::string_view to_string(Verdict verdict);

struct Report {
    Role role = Role::client;
    Endpoint here;
    std::optional<Endpoint> peer; // nullopt if it was not reached
    std::vector<Check> checks;    // of this end
    std::optional<Ping> ping;
    std::optional<Bandwidth> bandwidth;
    std::optional<Latency> latency;
    std::optional<Cause> cause; // set if the test began and did not end well
    unsigned expected = 0;      // percent of the slower port's rate

    [[nodiscard]] Scope scope() const;
    /// Gb/s of the slower port; 0 if it is not known.
    [[nodiscard]] double rate() const;
    /// True if the bandwidth was measured and is below what was expected. With itself, a device need not be fast.
    [[nodiscard]] bool is_slow() const;
    [[nodiscard]] Verdict verdict() const;
};

} // namespace rdmanet::verify
