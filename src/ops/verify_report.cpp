#include <rdmanet/ops/verify_report.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/ops/table.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace rdmanet::ops {
namespace {

using verify::Check;
using verify::Endpoint;

using verify::Scope;
using verify::Verdict;

/// "9.5", "0.04": two digits, without zeros at the end.
std::string short_number(double number) {
    std::string text = fmt::format("{:.2f}", number);
    while (text.ends_with('0')) text.pop_back();
    if (text.ends_with('.')) text.pop_back();
    return text;
}

/// JSON's form, in every locale.
std::string json_number(double number) {
    return fmt::format("{:.3f}", number);
}

std::string speed_text(double rate) {
    return rate > 0 ? fmt::format("{} Gb/s", short_number(rate)) : std::string();
}

unsigned percent_of(double part, double whole) {
    constexpr double kHundred = 100;
    constexpr double kMost = 1e6; // the other end says what it likes
    return whole > 0 ? static_cast<unsigned>(std::clamp(part * kHundred / whole, 0.0, kMost)) : 0;
}

std::string table_of_ends(const verify::Report& report) {
    Table table({"END", "NODE", "POD", "INTERFACE", "ADDRESS", "DEVICE", "GID", "MTU", "SPEED"});
    const auto add = [&](verify::Role role, const Endpoint& end) {
        table.add_row({std::string(to_string(role)), printable(end.node), printable(end.pod), printable(end.interface),
                       end.address ? end.address->to_string() : std::string(),
                       end.device.empty() ? std::string() : fmt::format("{}/{}", printable(end.device), end.port),
                       end.is_infiniband || !end.address ? std::string() : std::to_string(end.gid_index),
                       end.mtu == 0 ? std::string() : std::to_string(end.mtu), speed_text(end.rate)});
    };
    const bool is_client = report.role == verify::Role::client;
    add(report.role, report.here);
    if (report.peer) add(is_client ? verify::Role::server : verify::Role::client, *report.peer);
    return fmt::format("{}\n", table.to_text());
}

std::string bandwidth_text(const verify::Report& report) {
    std::string text = fmt::format("{} Gb/s", short_number(report.bandwidth->rate));
    if (report.scope() != Scope::device && report.rate() > 0)
        text += fmt::format(", {} % of the port's {} Gb/s", percent_of(report.bandwidth->rate, report.rate()),
                            short_number(report.rate()));
    return text;
}

std::string table_of_tests(const verify::Report& report) {
    Table table({"TEST", "RESULT", "WITH"});
    if (report.ping)
        table.add_row({"ping", fmt::format("{} messages there and back", report.ping->messages),
                       fmt::format("SEND of {} bytes", report.ping->bytes)});
    if (report.bandwidth)
        table.add_row({"bandwidth", bandwidth_text(report), fmt::format("WRITE of {} bytes", report.bandwidth->size)});
    if (report.latency)
        table.add_row({"latency",
                       fmt::format("{} us, {} us for 99 %", short_number(report.latency->typical),
                                   short_number(report.latency->slow)),
                       fmt::format("WRITE of {} bytes", report.latency->size)});
    return report.ping ? fmt::format("{}\n", table.to_text()) : std::string();
}

std::string text_of_check(const Check& check) {
    return fmt::format("{} {} {}: {}\n  cure: {}\n", check.outcome, check.id, printable(check.subject),
                       printable(check.what), printable(check.cure));
}

std::string_view proves(Scope scope) {
    switch (scope) {
    case Scope::device:
        return "the device with itself: this proves the device, its driver and its GID, but no way to another pod";
    case Scope::node: return "two pods of one node: this does not prove the network between nodes";
    case Scope::network: break;
    }
    return "two nodes";
}

std::string sentence_of(const verify::Report& report) {
    if (report.verdict() == Verdict::failed) {
        const std::string with = report.peer ? fmt::format(" with {}", printable(report.peer->to_string())) : "";
        return fmt::format("RDMA of {}{} does not work", printable(report.here.to_string()), with);
    }
    std::string text = fmt::format("RDMA works between {} and {} ({})", printable(report.here.to_string()),
                                   printable(report.peer->to_string()), proves(report.scope()));
    if (report.is_slow())
        text += fmt::format("; its bandwidth is {} % of the port's speed, expected {} %",
                            percent_of(report.bandwidth->rate, report.rate()), report.expected);
    return text;
}

std::string verdict_text(Verdict verdict, Colours colours) {
    const char* const colour = verdict == Verdict::proven ? "32" : verdict == Verdict::limited ? "33" : "31";
    return colours == Colours::yes ? fmt::format("\033[1;{}m{}\033[0m", colour, to_string(verdict))
                                   : std::string(to_string(verdict));
}

void write_end(json::Writer& writer, const Endpoint& end) {
    writer.begin_object()
        .member("node", end.node)
        .member("pod", end.pod)
        .member("interface", end.interface)
        .member("address", end.address ? end.address->to_string() : "")
        .member("device", end.device)
        .member("port", end.port)
        .member("linkLayer", end.is_infiniband ? "InfiniBand" : "Ethernet")
        .member("gidIndex", end.gid_index)
        .member("mtu", end.mtu)
        .key("speed")
        .raw(json_number(end.rate))
        .end_object();
}

void write_tests(json::Writer& writer, const verify::Report& report) {
    if (report.ping)
        writer.key("ping")
            .begin_object()
            .member("messages", report.ping->messages)
            .member("size", report.ping->bytes)
            .end_object();
    if (report.bandwidth)
        writer.key("bandwidth")
            .begin_object()
            .key("rate")
            .raw(json_number(report.bandwidth->rate))
            .member("percent", percent_of(report.bandwidth->rate, report.rate()))
            .member("expectedPercent", report.expected)
            .member("bytes", report.bandwidth->bytes)
            .member("size", report.bandwidth->size)
            .end_object();
    if (report.latency)
        writer.key("latency")
            .begin_object()
            .key("typical")
            .raw(json_number(report.latency->typical))
            .key("slow")
            .raw(json_number(report.latency->slow))
            .member("rounds", report.latency->rounds)
            .member("size", report.latency->size)
            .end_object();
}

} // namespace

std::string to_text(const verify::Report& report, Colours colours) {
    std::string text = table_of_ends(report) + table_of_tests(report);
    for (const Check& check : report.checks)
        if (check.outcome != verify::Outcome::ok) text += text_of_check(check);
    if (report.cause)
        text += fmt::format("failure {}: {}\n  cure: {}\n", report.cause->stage, printable(report.cause->what),
                            printable(report.cause->cure));
    return text + fmt::format("{}: {}\n", verdict_text(report.verdict(), colours), sentence_of(report));
}

std::string to_json(const verify::Report& report) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object()
        .member("version", 1)
        .member("verdict", to_string(report.verdict()))
        .member("says", sentence_of(report));
    if (report.peer) writer.member("scope", to_string(report.scope()));
    writer.member("role", to_string(report.role)).key("here");
    write_end(writer, report.here);
    if (report.peer) write_end(writer.key("peer"), *report.peer);
    write_tests(writer, report);
    writer.key("checks").begin_array();
    for (const Check& check : report.checks)
        writer.begin_object()
            .member("check", check.id)
            .member("subject", check.subject)
            .member("result", to_string(check.outcome))
            .member("what", check.what)
            .member("cure", check.cure)
            .end_object();
    writer.end_array();
    if (report.cause)
        writer.key("cause")
            .begin_object()
            .member("stage", report.cause->stage)
            .member("what", report.cause->what)
            .member("cure", report.cause->cure)
            .end_object();
    return fmt::format("{}\n", writer.member("exitStatus", exit_status_of(report)).end_object().to_text());
}

int exit_status_of(const verify::Report& report) {
    switch (report.verdict()) {
    case Verdict::proven: return 0;
    case Verdict::limited: return 1;
    case Verdict::failed: break;
    }
    return 2;
}

} // namespace rdmanet::ops
