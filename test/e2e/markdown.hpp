// The parts of the documentation that tests compare with the binary.
#pragma once

#include "support/source_path.hpp"

#include <string>
#include <vector>

namespace rdmanet::test {

/// The text of a file of the source tree.
[[nodiscard]] std::string source_text(const std::string& file);

struct CodeBlock {
    std::string section;
    std::string language; // "indented" for an indented block
    std::string text;
};

struct TableRow {
    std::string section;
    std::vector<std::string> header;
    std::vector<std::string> cells;
};

struct Link {
    std::string file;   // relative to the sources
    std::string anchor; // a section of the file; empty: the whole file
};

struct Markdown {
    std::string file; // relative to the sources
    std::vector<std::string> sections{};
    std::vector<CodeBlock> blocks{};
    std::vector<TableRow> rows{};
    std::vector<std::string> spans{}; // inline code
    std::vector<Link> links{};        // to files of the sources
};

/// `file` is relative to the sources.
[[nodiscard]] Markdown read_markdown(const std::string& file);

/// What users read: README.md and every page of docs/.
[[nodiscard]] const std::vector<Markdown>& documents();

/// All matches of a POSIX extended expression, or of its first group if it has one. Not std::regex, which takes
/// longer to compile than a whole test.
[[nodiscard]] std::vector<std::string> matches(const std::string& text, const std::string& expression);

/// The text between backticks.
[[nodiscard]] std::vector<std::string> code_spans(const std::string& text);

} // namespace rdmanet::test
