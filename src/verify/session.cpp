#include <rdmanet/verify/verify.hpp>

#include "channel.hpp"
#include "connection.hpp"
#include "failure.hpp"
#include "messages.hpp"
#include "peer_checks.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/kernel/netns_sysfs.hpp>
#include <rdmanet/verify/report.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::verify {
namespace {

using std::chrono::milliseconds;

/// The calling thread is in a pod's network namespace until the end of the scope, and libibverbs reads that
/// namespace's sysfs. Device files are the caller's own: the kernel compares the namespace of a device with that of
/// the thread that opens it (rdma_dev_access_netns(), drivers/infiniband/core/device.c).
class Place {
public:
    /// Throws base::SystemError.
    explicit Place(const std::string& netns) : netns_(kernel::get_netns(netns)), sysfs_(netns_), scope_(netns_) {
        // ibv_get_sysfs_path() reads it once.
        (void)::setenv("SYSFS_PATH", sysfs_.path("").c_str(), 1);
    }

private:
    kernel::Netns netns_;
    kernel::NetnsSysfs sysfs_;
    kernel::NetnsScope scope_;
};

/// Waiting for RDMA: the device is polled, as programs of RDMA do, so a wait must look at the time and at the other end
/// by itself.
class Watch {
public:
    Watch(Channel& channel, const base::Deadline& deadline) : channel_(channel), deadline_(deadline) {}

    /// Returns when `done()` is true. Throws Failure at the deadline, and if the other end says or does anything.
    template <class Done>
    void wait_until(const Done& done) {
        // Yielding the processor instead would let other programs decide about the latency.
        for (unsigned turns = 1; !done(); ++turns)
            if (turns % kTurnsPerLook == 0 && !look(done)) return;
    }

private:
    static constexpr unsigned kTurnsPerLook = 4096; // about a tenth of a millisecond, in which a look costs little

    /// Whether to wait on.
    template <class Done>
    bool look(const Done& done) {
        // A stage has no messages, so this one is a failure, or not a message at all. But if this end has finished
        // the stage by now, it is one of the next stage.
        if (channel_.has_news()) {
            if (done()) return false;
            (void)channel_.receive("failed", deadline_);
        }
        if (deadline_.passed())
            throw Failure("no packet of the other end has come in time",
                          "`ping` the other pod's address, check VLAN and MTU of the switches, or give more time with "
                          "`--seconds`",
                          Suspect::way);
        return true;
    }

    Channel& channel_;
    const base::Deadline& deadline_;
};

// What is measured, one stage after the other. Each has a client's and a server's side, which run at the same time.

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

/// Before the stage: a receive request must wait when the first message comes.
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

/// Writes for about `time`. The server's program has nothing to do.
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

/// Before the stage, at both ends: nothing has arrived.
void prepare_writes(Connection& connection) {
    std::atomic_ref(connection.incoming()[kLatencyBytes - 1]).store(0, std::memory_order_release);
}

/// Writes there and back for about `time`. The server's side ends when the client says so by its last write.
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
    std::ranges::sort(halves);
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

class Session {
public:
    Session(Role role, const Endpoint& endpoint, base::UniqueFd stream, const Options& options)
        : options_(options), deadline_(base::Deadline::in(options.patience)), channel_(std::move(stream)) {
        report_.role = role;
        report_.here = endpoint;
        report_.expected = options.expected;
    }

    Report run() {
        try {
            go_through();
        } catch (const PeersFailure& failure) {
            report_.cause = Cause{.stage = stage_,
                                  .what = fmt::format("the other end reports: {}", failure.what()),
                                  .fix = fix_of(failure)};
        } catch (const Failure& failure) {
            report_.cause = Cause{.stage = stage_, .what = failure.what(), .fix = fix_of(failure)};
            tell_peer({failure.what(), report_.cause->fix, failure.suspect()});
        } catch (const base::Error& error) {
            tell_peer({error.what(), "look at the other end"});
            throw;
        }
        return std::move(report_);
    }

private:
    void go_through() {
        begin("control", "exchanging addresses");
        std::optional<Place> place;
        if (!report_.here.netns.empty()) place.emplace(report_.here.netns);
        Connection connection(report_.here);
        report_.here.mtu = connection.mtu();
        const End peer = exchange(connection);
        check(peer.endpoint);

        begin("connect", "connecting queue pairs");
        connection.connect(peer.queue, peer.endpoint.mtu);
        prepare_pings(connection);
        meet_at("connected");

        Watch watch(channel_, deadline_);
        if (report_.role == Role::client)
            measure(connection, watch);
        else
            serve(connection, watch);
    }

    /// If packets do not arrive, what a check has warned of is the likely reason.
    [[nodiscard]] std::string fix_of(const Failure& failure) const {
        if (failure.suspect() == Suspect::way)
            for (const Check& each : report_.checks)
                if (each.outcome == Outcome::warning)
                    return fmt::format("first mend what the warning {} of {} says: {}", each.id, each.subject,
                                       each.fix);
        return failure.fix();
    }

    void begin(const char* stage, const char* what) {
        stage_ = stage;
        options_.progress(what);
    }

    End exchange(const Connection& connection) {
        channel_.send(to_message({.endpoint = report_.here, .queue = connection.address()}), deadline_);
        const json::Document message = channel_.receive("end", deadline_);
        try {
            End peer = parse_end(message);
            report_.peer = peer.endpoint;
            return peer;
        } catch (const base::Error& error) {
            throw Failure(fmt::format("the other end's message is not understood: {}", error.what()),
                          "use the same version of rdmanet on both nodes");
        }
    }

    void check(const Endpoint& peer) {
        for (Check& each : check_peer(report_.here, peer)) {
            if (each.outcome == Outcome::failure) {
                stage_ = each.id;
                throw Failure(each.what, each.fix);
            }
            report_.checks.push_back(std::move(each));
        }
    }

    /// Returns when the other end has come as far.
    void meet_at(std::string_view point) {
        channel_.send(to_signal(point), deadline_);
        (void)channel_.receive(point, deadline_);
    }

    /// A part of the whole time, but no longer than it takes to be exact.
    [[nodiscard]] milliseconds time_for(int part, milliseconds enough) const {
        return std::min<milliseconds>(enough, milliseconds(options_.patience) / part);
    }

    void measure(Connection& connection, Watch& watch) {
        begin("ping", "ping: messages there and back");
        report_.ping = ping_as_client(connection, watch);
        begin("bandwidth", "bandwidth: writing for about two seconds");
        report_.bandwidth = measure_bandwidth(connection, watch, time_for(8, milliseconds{2000}));
        begin("latency", "latency: writing there and back for about a second");
        prepare_writes(connection);
        meet_at("latency");
        report_.latency = measure_latency(connection, watch, time_for(16, milliseconds{1000}));
        channel_.send(to_results(report_), deadline_);
        (void)channel_.receive("end of test", deadline_);
    }

    void serve(Connection& connection, Watch& watch) {
        begin("ping", "ping: messages there and back");
        ping_as_server(connection, watch);
        begin("bandwidth", "bandwidth: the client writes");
        (void)channel_.receive("latency", deadline_);
        begin("latency", "latency: writes there and back");
        prepare_writes(connection);
        channel_.send(to_signal("latency"), deadline_);
        answer_writes(connection, watch);
        const json::Document results = channel_.receive("results", deadline_);
        parse_results(results, report_);
        channel_.send(to_signal("end of test"), deadline_);
    }

    void tell_peer(const Failure& failure) noexcept {
        try {
            channel_.send(to_failure(failure), deadline_.at_most(std::chrono::seconds{1}));
        } catch (const std::exception&) { // it sees the end of the stream
        }
    }

    const Options& options_;
    const base::Deadline deadline_;
    Channel channel_;
    Report report_;
    std::string stage_ = "control";
};

} // namespace

Report run_test(Role role, const Endpoint& endpoint, base::UniqueFd stream, const Options& options) {
    return Session(role, endpoint, std::move(stream), options).run();
}

} // namespace rdmanet::verify
