// Messages as people get them, whole, in one file: a better sentence is a change of its line there. What the cases of a
// table demand themselves is only what the message names.
#pragma once

#include <set>
#include <string>

namespace rdmanet::test {

/// Compares messages with test/e2e/messages.golden, or writes that file anew if RDMANET_WRITE_MESSAGES is set.
class Golden {
public:
    /// A message, if it isn't empty, as one line. A long one is cut: rows that send 256 KiB get some of it back.
    void add(const std::string& message);

    /// Lines that only the file has, with "- ", and that only this run had, with "+ ". Empty after writing.
    [[nodiscard]] std::string difference() const;

private:
    std::set<std::string> lines_;
};

} // namespace rdmanet::test
