// Text in columns.
#pragma once

#include <string>
#include <vector>

namespace rdmanet::ops {

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
