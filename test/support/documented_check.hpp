// The table of docs/doctor.md: a row for each check, with the fault that a test causes and what the doctor says to it.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>

namespace rdmanet::test {

/// `text` with 0 for each number, because process numbers and addresses differ between runs.
[[nodiscard]] inline std::string without_numbers(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
        if (!digit)
            out += c;
        else if (out.empty() || out.back() != '0')
            out += '0';
    }
    return out;
}

/// True if the page has the row. `finding` is "severity | subject | what | fix".
[[nodiscard]] inline bool is_documented(const std::string& page, const std::string& check, const std::string& fault,
                                        const std::string& finding) {
    const std::size_t severity = finding.find(" | ");
    const std::size_t subject = finding.find(" | ", severity + 1);
    const std::size_t what = finding.find(" | ", subject + 1);
    if (what == std::string::npos) return false;
    const std::string row = "| `" + check + "` | " + fault + " | " + finding.substr(0, severity) +
                            finding.substr(subject, what - subject) + " |\n";
    return without_numbers(page).find(without_numbers(row)) != std::string::npos;
}

} // namespace rdmanet::test
