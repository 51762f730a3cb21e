// What the tests of `rdmanet doctor` share: faults that they cause, and the check that finds each.
#pragma once

#include "documented.hpp"

#include "support/concat.hpp"
#include "support/documented_check.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <string>
#include <vector>

namespace rdmanet::test {

/// A fault as the documentation calls it, a command that causes it, one that ends it, and words of the finding.
struct Provocation {
    std::string check;
    std::string fault;
    std::string begin;
    std::string end;
    std::vector<std::string> words;
};

inline std::string doctor(const std::string& options = "") {
    return shell(concat(binary(), " doctor ", options, " || [ $? -lt 3 ]"));
}

/// What a check found, a line each: "severity | subject | what | cure".
inline std::string found_by(const std::string& check, const std::string& options) {
    return shell(concat("{ ", binary(), " doctor --json ", options,
                        " || [ $? -lt 3 ]; } | jq -r '.findings[]|select(.check==\"", check,
                        "\")|[.severity,.subject,.what,.cure]|join(\" | \")'"));
}

inline std::string debugfs(const std::string& file) {
    return concat("/sys/kernel/debug/simrnic/", file);
}

/// Each check is silent, finds its fault as the documentation says, and is silent again.
inline void try_all(const std::vector<Provocation>& provocations, const std::string& options,
                    std::set<std::string>& tried) {
    for (const Provocation& each : provocations) {
        INFO(each.check);
        CHECK(found_by(each.check, options) == "");
        shell(each.begin);
        const std::string found = found_by(each.check, options);
        CHECK(is_documented(source_text("docs/doctor.md"), each.check, each.fault, found));
        for (const std::string& word : each.words) CHECK_THAT(found, Catch::Contains(word));
        shell(each.end);
        CHECK(found_by(each.check, options) == "");
        tried.insert(each.check);
    }
}

} // namespace rdmanet::test
