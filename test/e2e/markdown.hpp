// The parts of the documentation that can be held against the truth.
#pragma once

#include <string>
#include <vector>

namespace rdmanet::test {

/// A file of the sources, by its path in them.
[[nodiscard]] std::string source_path(const std::string& file);
[[nodiscard]] std::string source_text(const std::string& file);

struct CodeBlock {
    std::string section;
    std::string language; // of a fenced block; "indented" of an indented one
    std::string text;
};

struct TableRow {
    std::string section;
    std::vector<std::string> header;
    std::vector<std::string> cells;
};

struct Markdown {
    std::string file; // relative to the sources
    std::vector<CodeBlock> blocks{};
    std::vector<TableRow> rows{};
    std::vector<std::string> spans{}; // inline code
    std::vector<std::string> links{}; // to files, relative to the sources

    /// Lines of all blocks of a section.
    [[nodiscard]] std::vector<std::string> lines_of(const std::string& section) const;
};

/// `file` is relative to the sources.
[[nodiscard]] Markdown read_markdown(const std::string& file);

/// All that matches a POSIX extended expression, or what is in the first group of it if there is one. Not std::regex,
/// which takes longer to compile than a whole test.
[[nodiscard]] std::vector<std::string> matches(const std::string& text, const std::string& expression);

/// What stands between backticks.
[[nodiscard]] std::vector<std::string> code_spans(const std::string& text);

} // namespace rdmanet::test
