// One file holds whole messages as people get them, so that a better sentence changes one line there. The tests
// themselves only require what a message names.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rdmanet::test {

/// The message in one line, with long runs of one character cut, because some rows of bad input send 256 KiB.
[[nodiscard]] std::string shortened(const std::string& message);
/// The path of that file of test/e2e.
[[nodiscard]] std::string golden_file(const std::string& name);
/// True if the golden files are to be rewritten: RDMANET_WRITE_MESSAGES is set.
[[nodiscard]] bool writes_messages();

/// Compares messages with one section of test/e2e/messages.golden. Rewrites that section if writes_messages().
class Golden {
public:
    /// The section begins with the line "[NAME]".
    explicit Golden(std::string section) : section_(std::move(section)) {}

    /// Adds a message as one line, unless it is empty.
    void add(const std::string& message);
    /// Adds each line of a text, for example of a table.
    void add_lines(const std::string& text);

    /// Lines that only the file has, with "- ", and lines that only this run had, with "+ ". Empty after writing.
    [[nodiscard]] std::string difference() const;

private:
    std::string section_;
    std::vector<std::string> lines_;
};

} // namespace rdmanet::test
