// Text in columns.
#pragma once

#include <string>
#include <vector>

namespace rdmanet::ops {

/// What others wrote, into a store or CNI_ARGS, may have control characters for a terminal. Such a text is quoted, and
/// so is one that is longer than the name of a pod with its namespace.
[[nodiscard]] std::string printable(const std::string& text);

/// Columns are as wide as their widest cell, with two spaces between and no trailing space. Empty cells show "-".
class Table {
public:
    explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
    void add_row(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    [[nodiscard]] std::string to_text() const;

private:
    std::vector<std::vector<std::string>> rows_;
};

} // namespace rdmanet::ops
