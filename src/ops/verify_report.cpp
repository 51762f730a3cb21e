#include <rdmanet/ops/verify_report.hpp>

#include "verify_words.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ops/table.hpp>

#include <fmt/format.h>

namespace rdmanet::ops {
namespace {

using verify::Verdict;

/// "9.5", "0.04": two digits, without zeros at the end.
std::string short_number(double number) {
    std::string text = fmt::format("{:.2f}", number);
    while (text.ends_with('0')) text.pop_back();
    if (text.ends_with('.')) text.pop_back();
    return text;
}

std::string speed_text(double rate) {
    return rate > 0 ? fmt::format("{} Gb/s", short_number(rate)) : std::string();
}

std::string table_of_ends(const verify::Report& report) {
    const bool is_infiniband = report.here.is_infiniband;
    Table table(
        {"END", "NODE", "POD", "INTERFACE", "ADDRESS", "DEVICE", is_infiniband ? "PKEY" : "GID", "MTU", "SPEED"});
    const auto add = [&](verify::Role role, const verify::Endpoint& end) {
        table.add_row({std::string(to_string(role)), printable(end.node), printable(end.pod), printable(end.interface),
                       end.address ? end.address->to_string() : std::string(),
                       end.device.empty() ? std::string() : fmt::format("{}/{}", printable(end.device), end.port),
                       is_infiniband || !end.address ? pkey_text(end) : std::to_string(end.gid_index),
                       end.mtu == 0 ? std::string() : std::to_string(end.mtu), speed_text(end.rate)});
    };
    const bool is_client = report.role == verify::Role::client;
    add(report.role, report.here);
    if (report.peer) add(is_client ? verify::Role::server : verify::Role::client, *report.peer);
    return fmt::format("{}\n", table.to_text());
}

std::string bandwidth_text(const verify::Report& report) {
    std::string text = fmt::format("{} Gb/s", short_number(report.bandwidth->rate));
    if (report.scope() != verify::Scope::device && report.rate() > 0)
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

std::string text_of_check(const verify::Check& check) {
    return fmt::format("{} {} {}: {}\n  fix: {}\n", check.outcome, check.id, printable(check.subject),
                       printable(check.what), printable(check.fix));
}

std::string verdict_text(Verdict verdict, Colours colours) {
    const Colour colour = verdict == Verdict::proven    ? Colour::good
                          : verdict == Verdict::limited ? Colour::doubtful
                                                        : Colour::bad;
    return painted(to_string(verdict), colour, colours);
}

} // namespace

std::string to_text(const verify::Report& report, Colours colours) {
    std::string text = table_of_ends(report) + table_of_tests(report);
    for (const verify::Check& check : report.checks)
        if (check.outcome != verify::Outcome::ok) text += text_of_check(check);
    if (report.cause)
        text += fmt::format("failure {}: {}\n  fix: {}\n", report.cause->stage, printable(report.cause->what),
                            printable(report.cause->fix));
    return text + fmt::format("{}: {}\n", verdict_text(report.verdict(), colours), sentence_of(report));
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
