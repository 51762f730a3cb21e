// A fault on the node, and what the doctor says to it.
#pragma once

#include "attachment_stage.hpp"

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

/// A command that starts a program as a process of a pod, and one that ends it. `how` is put before the program.
[[nodiscard]] std::string in_background(const Pod& pod, const std::string& how, const std::string& program);
[[nodiscard]] std::string end_of(const std::string& program);

/// A file of the software NIC (netns-harness/simrnic/README.md).
[[nodiscard]] std::string debugfs(const std::string& file);

/// Runs `rdmanet doctor` and returns its output.
[[nodiscard]] std::string doctor(const std::string& options = "");

/// What a check found, a line each: "severity | subject | what | fix".
[[nodiscard]] std::string found_by(const std::string& check, const std::string& options);

/// All checks are silent. Each finds its fault as docs/doctor.md says, while the faults come one after the other. After
/// the last, all are silent again. Adds the checks to `tried`.
void try_all(const std::vector<Provocation>& provocations, const std::string& options, std::set<std::string>& tried);

} // namespace rdmanet::test
