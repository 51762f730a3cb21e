// Messages as people get them, whole, in one file: a better sentence is a change of its line there. What the tests
// demand themselves is only what a message names.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rdmanet::test {

/// Compares messages with one section of test/e2e/messages.golden, or writes that section anew if
/// RDMANET_WRITE_MESSAGES is set.
class Golden {
public:
    /// The section begins with the line "[NAME]".
    explicit Golden(std::string section) : section_(std::move(section)) {}

    /// A message, if it isn't empty, as one line. A long one is cut: rows that send 256 KiB get some of it back.
    void add(const std::string& message);
    /// A text with a line for each of its lines, such as a table.
    void add_lines(const std::string& text);

    /// Lines that only the file has, with "- ", and that only this run had, with "+ ". Empty after writing.
    [[nodiscard]] std::string difference() const;

private:
    std::string section_;
    std::vector<std::string> lines_;
};

} // namespace rdmanet::test
