#include "stages.hpp"

#include "failure.hpp"

#include <rdmanet/base/format.hpp>

#include <algorithm>
#include <atomic>
#include <vector>

namespace rdmanet::verify {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kPings = 20;
constexpr unsigned kPingBytes = 4096;

/// Differs for each message and for both directions.
unsigned char pattern(unsigned message, unsigned at, bool is_answer) {
    return static_cast<unsigned char>(at * 7 + message * 31 + (is_answer ? 128 : 0));
}

void fill_message(unsigned char* bytes, unsigned message, bool is_answer) {
    for (unsigned at = 0; at < kPingBytes; ++at) bytes[at] = pattern(message, at, is_answer);
}

void expect_message(const unsigned char* bytes, unsigned message, bool is_answer) {
    for (unsigned at = 0; at < kPingBytes; ++at)
        if (bytes[at] != pattern(message, at, is_answer))
            throw Failure(fmt::format("byte {} of message {} is {}, expected {}", at, message, bytes[at],
                                      pattern(message, at, is_answer)),
                          "the way between the pods changes data: check the NIC's firmware");
}

// The latency's writes: the last byte changes, and a device writes it last.
constexpr unsigned kLatencyBytes = 8;
constexpr unsigned kWriteMost = 250; // then it begins with 1 again
constexpr unsigned kEnd = 255;

/// The device changes the byte behind the compiler's back.
unsigned char arrived(Connection& connection) {
    return std::atomic_ref(connection.incoming()[kLatencyBytes - 1]).load(std::memory_order_acquire);
}

void write_byte(Connection& connection, Watch& watch, unsigned value) {
    connection.outgoing()[kLatencyBytes - 1] = static_cast<unsigned char>(value);
    connection.write(kLatencyBytes, 1);
    watch.wait_until([&] { return connection.completed() != 0; });
}

} // namespace

void prepare_pings(Connection& connection) {
    connection.receive(kPingBytes);
}

Ping ping_as_client(Connection& connection, Watch& watch) {
    for (unsigned message = 0; message < kPings; ++message) {
        fill_message(connection.outgoing(), message, false);
        connection.send(kPingBytes);
        unsigned completed = 0; // what was sent, and the answer
        watch.wait_until([&] { return (completed += connection.completed()) >= 2; });
        expect_message(connection.incoming(), message, true);
        if (message + 1 < kPings) connection.receive(kPingBytes);
    }
    return {.messages = kPings, .bytes = kPingBytes};
}

void ping_as_server(Connection& connection, Watch& watch) {
    unsigned completed = 0;
    for (unsigned message = 0; message < kPings; ++message) {
        // All answers so far, and all messages with this one.
        watch.wait_until([&] { return (completed += connection.completed()) >= 2 * message + 1; });
        expect_message(connection.incoming(), message, false);
        if (message + 1 < kPings) connection.receive(kPingBytes);
        fill_message(connection.outgoing(), message, true);
        connection.send(kPingBytes);
    }
    watch.wait_until([&] { return (completed += connection.completed()) >= 2 * kPings; });
}

Bandwidth measure_bandwidth(Connection& connection, Watch& watch, std::chrono::milliseconds time) {
    constexpr unsigned kChains = Connection::kWindow / Connection::kChain;
    unsigned outstanding = 0; // chains
    std::uint64_t done = 0;
    const auto start = Clock::now();
    const auto end = start + time;
    bool is_over = false;
    while (!is_over || outstanding != 0) {
        for (; !is_over && outstanding < kChains; ++outstanding)
            connection.write(Connection::kLargest, Connection::kChain);
        unsigned completed = 0;
        watch.wait_until([&] { return (completed = connection.completed()) != 0; });
        outstanding -= completed;
        done += completed;
        is_over = is_over || Clock::now() >= end;
    }
    const std::chrono::duration<double> seconds = Clock::now() - start;
    const std::uint64_t bytes = done * Connection::kChain * Connection::kLargest;
    return {
        .rate = static_cast<double>(bytes) * 8 / 1e9 / seconds.count(), .bytes = bytes, .size = Connection::kLargest};
}

void prepare_writes(Connection& connection) {
    std::atomic_ref(connection.incoming()[kLatencyBytes - 1]).store(0, std::memory_order_release);
}

Latency measure_latency(Connection& connection, Watch& watch, std::chrono::milliseconds time) {
    constexpr std::size_t kFewest = 20;
    constexpr std::size_t kMostRounds = 5000;
    std::vector<double> halves; // microseconds
    const auto end = Clock::now() + time;
    while (halves.size() < kMostRounds && (halves.size() < kFewest || Clock::now() < end)) {
        const auto value = static_cast<unsigned char>(halves.size() % kWriteMost + 1);
        const auto start = Clock::now();
        write_byte(connection, watch, value);
        watch.wait_until([&] { return arrived(connection) == value; });
        halves.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() / 2);
    }
    write_byte(connection, watch, kEnd);
    std::sort(halves.begin(), halves.end());
    return {.typical = halves[halves.size() / 2],
            .slow = halves[halves.size() * 99 / 100],
            .rounds = static_cast<unsigned>(halves.size()),
            .size = kLatencyBytes};
}

void answer_writes(Connection& connection, Watch& watch) {
    for (unsigned char last = 0;;) {
        unsigned char value = last;
        watch.wait_until([&] { return (value = arrived(connection)) != last; });
        if (value == kEnd) return;
        write_byte(connection, watch, value);
        last = value;
    }
}

} // namespace rdmanet::verify
