#include <rdmanet/ops/table.hpp>

#include <rdmanet/base/text.hpp>

#include <algorithm>

namespace rdmanet::ops {

std::string printable(const std::string& text) {
    constexpr std::size_t kLongest = 320; // of a pod with its namespace: 63 and 253, and a slash
    return text.size() <= kLongest && base::is_printable_utf8(text) ? text : base::quoted(text, kLongest);
}

std::string Table::to_text() const {
    std::vector<std::size_t> widths(rows_.front().size(), 1);
    for (const auto& row : rows_)
        for (std::size_t column = 0; column < row.size(); ++column)
            widths[column] = std::max(widths[column], row[column].size());
    std::string text;
    for (const auto& row : rows_) {
        for (std::size_t column = 0; column < row.size(); ++column) {
            const std::string cell = row[column].empty() ? "-" : row[column];
            text += cell;
            if (column + 1 < row.size()) text.append(widths[column] + 2 - cell.size(), ' ');
        }
        text += '\n';
    }
    return text;
}

} // namespace rdmanet::ops
