#include <rdmanet/ops/doctor_report.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/ops/table.hpp>

#include <algorithm>

namespace rdmanet::ops {
namespace {

using doctor::CheckResult;
using doctor::Finding;
using doctor::Outcome;
using doctor::Report;
using doctor::Severity;

std::size_t count(const Report& report, Severity severity) {
    return static_cast<std::size_t>(std::ranges::count(report.findings, severity, &Finding::severity));
}

std::size_t count(const Report& report, Outcome outcome) {
    return static_cast<std::size_t>(std::ranges::count(report.checks, outcome, &CheckResult::outcome));
}

/// The worst that a check found; "ok" if it found nothing.
std::string result_of(const Report& report, const CheckResult& result) {
    if (result.outcome == Outcome::not_looked_at) return "not looked at";
    if (result.outcome == Outcome::ok) return "ok";
    Severity worst = Severity::info;
    for (const Finding& finding : report.findings)
        if (finding.check == result.check.id) worst = std::max(worst, finding.severity);
    return std::string(to_string(worst));
}

std::string table_of(const Report& report) {
    Table table({"LAYER", "CHECK", "RESULT", "LOOKS AT"});
    for (const CheckResult& result : report.checks)
        table.add_row({std::string(to_string(result.check.layer)), std::string(result.check.id),
                       result_of(report, result), std::string(result.check.about)});
    std::string text = fmt::format("{}\n", table.to_text());
    for (const CheckResult& result : report.checks)
        if (result.outcome == Outcome::not_looked_at)
            text += fmt::format("not looked at {}: {}\n", result.check.id, printable(result.why));
    return text;
}

std::string severity_text(Severity severity, Colours colours) {
    if (severity == Severity::info) return std::string(to_string(severity));
    return painted(to_string(severity), severity == Severity::failure ? Colour::bad : Colour::doubtful, colours);
}

std::string text_of(const Finding& finding, Colours colours) {
    std::string text = fmt::format("{} {}{}: {}\n", severity_text(finding.severity, colours), finding.check,
                                   finding.subject.empty() ? "" : fmt::format(" {}", printable(finding.subject)),
                                   printable(finding.what));
    if (!finding.fix.empty()) text += fmt::format("  fix: {}\n", printable(finding.fix));
    return text;
}

} // namespace

std::string to_text(const Report& report, Detail detail, Colours colours) {
    std::string text = detail == Detail::all_checks ? table_of(report) : std::string();
    for (const Finding& finding : report.findings) text += text_of(finding, colours);
    for (const std::string& what : report.unseen) text += fmt::format("not seen: {}\n", printable(what));
    return text + fmt::format("{}: {}, {}, {} ok, {} not looked at\n",
                              base::counted(report.checks.size(), "check", "checks"),
                              base::counted(count(report, Severity::failure), "failure", "failures"),
                              base::counted(count(report, Severity::warning), "warning", "warnings"),
                              count(report, Outcome::ok), count(report, Outcome::not_looked_at));
}

std::string to_json(const Report& report) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object().member("version", 1).key("checks").begin_array();
    for (const CheckResult& result : report.checks)
        writer.begin_object()
            .member("check", result.check.id)
            .member("layer", to_string(result.check.layer))
            .member("about", result.check.about)
            .member("lookedAt", result.outcome != Outcome::not_looked_at)
            .member("why", result.why)
            .end_object();
    writer.end_array().key("findings").begin_array();
    for (const Finding& finding : report.findings)
        writer.begin_object()
            .member("check", finding.check)
            .member("subject", finding.subject)
            .member("severity", to_string(finding.severity))
            .member("what", finding.what)
            .member("fix", finding.fix)
            .end_object();
    writer.end_array();
    writer.member("unseen", report.unseen);
    writer.member("exitStatus", exit_status_of(report));
    return fmt::format("{}\n", writer.end_object().to_text());
}

int exit_status_of(const Report& report) {
    switch (report.worst()) {
    case Severity::info: return report.unseen.empty() ? 0 : 1;
    case Severity::warning: return 1;
    case Severity::failure: break;
    }
    return 2;
}

} // namespace rdmanet::ops
