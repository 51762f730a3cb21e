#include "doctor_provocation.hpp"

#include "markdown.hpp"

#include "support/concat.hpp"
#include "support/documented_check.hpp"
#include "support/patience.hpp"

#include <rdmanet/base/error.hpp>

#include <catch2/catch.hpp>

#include <iterator>
#include <map>
#include <sstream>

namespace rdmanet::test {

std::string in_background(const Pod& pod, const std::string& how, const std::string& program) {
    return concat("cp -n /bin/sleep ", program, "; ip netns exec ", pod.name(), ' ', how, ' ', program,
                  " 1000 >/dev/null 2>&1 &");
}

std::string end_of(const std::string& program) {
    return concat("pkill -x $(basename ", program, ")");
}

std::string debugfs(const std::string& file) {
    return concat("/sys/kernel/debug/simrnic/", file);
}

std::string doctor(const std::string& options) {
    return shell(concat(binary(), " doctor ", options, " || [ $? -lt 3 ]"));
}

namespace {

/// What each check found, a line each: "severity | subject | what | fix".
using Findings = std::map<std::string, std::string>;

Findings look(const std::string& options) {
    std::vector<std::string> command{binary(), "doctor", "--json"};
    std::istringstream words(options);
    command.insert(command.end(), std::istream_iterator<std::string>(words), {});
    const ProcessResult result = run_process(command);
    if (result.exit_status > 2) throw base::Error(concat("doctor ", options, ": ", result.err));
    const json::Document report = document_of(result);
    Findings findings;
    for (const json::Reader& each : report.root().at("findings").elements()) {
        const auto text = [&](const char* key) { return each.find(key) ? each.at(key).string() : std::string(); };
        findings[text("check")] +=
            concat(text("severity"), " | ", text("subject"), " | ", text("what"), " | ", text("fix"), '\n');
    }
    return findings;
}

/// True if a line of the check's finding is what the page says of the fault.
bool shows(const Findings& findings, const std::string& page, const Provocation& fault) {
    const auto found = findings.find(fault.check);
    std::istringstream lines(found == findings.end() ? "" : found->second);
    for (std::string line; std::getline(lines, line);)
        if (is_documented(page, fault.check, fault.fault, line)) return true;
    return false;
}

} // namespace

std::string found_by(const std::string& check, const std::string& options) {
    return look(options)[check];
}

void try_all(const std::vector<Provocation>& provocations, const std::string& options, std::set<std::string>& tried) {
    const auto noise = [&] {
        Findings found = look(options);
        std::string text;
        for (const Provocation& each : provocations) text += found[each.check];
        return text;
    };
    CHECK(noise() == "");
    const std::string page = source_text("docs/doctor.md");
    std::string end = ":"; // of the fault before
    for (const Provocation& each : provocations) {
        INFO(concat(each.check, ": ", each.fault));
        shell(concat("{ ", end, "\n} && { ", each.begin, "\n}"));
        end = each.end;
        Findings found; // later, because links change and programs start in their own time
        const bool is_as_documented = comes_true([&] { return shows(found = look(options), page, each); });
        INFO(found[each.check]);
        CHECK(is_as_documented);
        for (const std::string& word : each.words) CHECK_THAT(found[each.check], Catch::Contains(word));
        tried.insert(each.check);
    }
    shell(end);
    std::string left;
    CHECK(comes_true([&] { return (left = noise()).empty(); }));
    CHECK(left == "");
}

} // namespace rdmanet::test
