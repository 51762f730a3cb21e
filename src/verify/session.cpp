#include <rdmanet/verify/verify.hpp>

#include "channel.hpp"
#include "connection.hpp"
#include "failure.hpp"
#include "messages.hpp"
#include "peer_checks.hpp"
#include "place.hpp"
#include "stages.hpp"

#include <rdmanet/base/format.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace rdmanet::verify {
namespace {

using std::chrono::milliseconds;

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
