#include <rdmanet/ops/verify_report.hpp>

#include "verify_words.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/json/writer.hpp>

#include <fmt/format.h>

namespace rdmanet::ops {
namespace {

/// JSON's form, in every locale.
std::string json_number(double number) {
    return fmt::format("{:.3f}", number);
}

void write_end(json::Writer& writer, const verify::Endpoint& end) {
    writer.begin_object()
        .member("node", end.node)
        .member("pod", end.pod)
        .member("interface", end.interface)
        .member("address", end.address ? end.address->to_string() : "")
        .member("device", end.device)
        .member("port", end.port)
        .member("linkLayer", end.is_infiniband ? "InfiniBand" : "Ethernet")
        .member("gidIndex", end.gid_index)
        .member("pkey", pkey_text(end))
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
    for (const verify::Check& check : report.checks)
        writer.begin_object()
            .member("check", check.id)
            .member("subject", check.subject)
            .member("result", to_string(check.outcome))
            .member("what", check.what)
            .member("fix", check.fix)
            .end_object();
    writer.end_array();
    if (report.cause)
        writer.key("cause")
            .begin_object()
            .member("stage", report.cause->stage)
            .member("what", report.cause->what)
            .member("fix", report.cause->fix)
            .end_object();
    return fmt::format("{}\n", writer.member("exitStatus", exit_status_of(report)).end_object().to_text());
}

} // namespace rdmanet::ops
