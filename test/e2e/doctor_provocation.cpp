#include "doctor_provocation.hpp"

#include "markdown.hpp"

#include "support/concat.hpp"
#include "support/documented_check.hpp"
#include "support/patience.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

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

std::string found_by(const std::string& check, const std::string& options) {
    return shell(concat("{ ", binary(), " doctor --json ", options,
                        " || [ $? -lt 3 ]; } | jq -r '.findings[]|select(.check==\"", check,
                        "\")|[.severity,.subject,.what,.fix]|join(\" | \")'"));
}

void try_all(const std::vector<Provocation>& provocations, const std::string& options, std::set<std::string>& tried) {
    for (const Provocation& each : provocations) {
        INFO(concat(each.check, ": ", each.fault));
        CHECK(found_by(each.check, options) == "");
        shell(each.begin);
        std::string found; // later, because links change and programs start in their own time
        const bool is_as_documented = comes_true([&] {
            found = found_by(each.check, options);
            return is_documented(source_text("docs/doctor.md"), each.check, each.fault, found);
        });
        INFO(found);
        CHECK(is_as_documented);
        for (const std::string& word : each.words) CHECK_THAT(found, Catch::Contains(word));
        shell(each.end);
        CHECK(comes_true([&] { return (found = found_by(each.check, options)).empty(); }));
        CHECK(found == "");
        tried.insert(each.check);
    }
}

} // namespace rdmanet::test
