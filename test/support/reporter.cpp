#include "support/reporter.hpp"

#include "support/catch.hpp"

#include <chrono>

namespace rdmanet::test {
namespace {

std::string& skip_reason() {
    static std::string reason;
    return reason;
}

/// In a failure's header Catch2 indents the text after ": " of a name. It aborts if a line of 80 has no room for the
/// indented text (printHeaderString() and TextFlow's Column, catch.hpp 2.13).
std::string without_indentation(std::string name) {
    for (auto at = name.find(": "); at != std::string::npos; at = name.find(": ", at)) name.replace(at, 2, ":\n");
    return name;
}

/// Catch2 2.13 has neither skipped cases nor a line for each case.
class ProgressReporter : public Catch::ConsoleReporter {
public:
    explicit ProgressReporter(const Catch::ReporterConfig& config) : ConsoleReporter(config) {}

    static std::string getDescription() { return "a line per test case, then counts of passed, failed and skipped"; }

    void testCaseStarting(const Catch::TestCaseInfo& info) override {
        skip_reason().clear();
        started_ = std::chrono::steady_clock::now();
        Catch::TestCaseInfo header = info;
        header.name = without_indentation(info.name);
        ConsoleReporter::testCaseStarting(header);
    }

    void sectionStarting(const Catch::SectionInfo& info) override {
        Catch::SectionInfo header = info;
        header.name = without_indentation(info.name);
        ConsoleReporter::sectionStarting(header);
    }

    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        const bool ok = stats.totals.assertions.allOk();
        const bool skipped = ok && !skip_reason().empty();
        if (!skipped) ++(ok ? passed_ : failed_);
        if (skipped) ++skipped_;
        const auto took =
            std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started_);
        stream << (skipped ? "skip" : ok ? "ok  " : "FAIL") << ' ' << stats.testInfo.name;
        if (skipped)
            stream << ": this machine lacks " << skip_reason();
        else
            stream << " (" << took.count() << " ms)";
        stream << std::endl;
        ConsoleReporter::testCaseEnded(stats);
    }

    void testRunEnded(const Catch::TestRunStats&) override {
        stream << passed_ << " passed, " << failed_ << " failed, " << skipped_ << " skipped" << std::endl;
    }

private:
    std::chrono::steady_clock::time_point started_;
    int passed_ = 0;
    int failed_ = 0;
    int skipped_ = 0;
};

CATCH_REGISTER_REPORTER("progress", ProgressReporter)

} // namespace

void mark_skipped(const std::string& what) {
    skip_reason() = what;
}

void skip(const std::string& what) {
    mark_skipped(what);
    throw Catch::TestFailureException(); // ends a case without a failure of its own
}

} // namespace rdmanet::test
