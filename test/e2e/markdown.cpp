#include "markdown.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/file.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>
#include <utility>

#include <regex.h>

namespace rdmanet::test {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> lines_of_text(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(' ');
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    for (std::size_t at = 1; at < line.size();) {
        const std::size_t end = std::min(line.find('|', at), line.size());
        cells.push_back(trimmed(line.substr(at, end - at)));
        at = end + 1;
    }
    return cells;
}

std::vector<Link> links_in(const std::string& line, const std::string& file) {
    std::vector<Link> links;
    for (std::size_t at = 0; (at = line.find("](", at)) != std::string::npos; ++at) {
        const std::string target = line.substr(at + 2, line.find(')', at) - at - 2);
        if (target.find("://") != std::string::npos) continue;
        const std::size_t hash = std::min(target.find('#'), target.size());
        Link link{.file = file, .anchor = target.substr(std::min(hash + 1, target.size()))};
        if (hash != 0) link.file = (fs::path(file).parent_path() / target.substr(0, hash)).lexically_normal();
        links.push_back(std::move(link));
    }
    return links;
}

/// Parses a document line by line.
class Parser {
public:
    explicit Parser(Markdown& into) : into_(into) {}

    void take(const std::string& line) {
        if (line.starts_with("```"))
            fence(line.substr(3));
        else if (fenced_)
            into_.blocks.back().text += line + '\n';
        else if (line.starts_with("    "))
            indented(line.substr(4));
        else
            prose(line);
    }

private:
    void fence(const std::string& language) {
        if (!fenced_) into_.blocks.push_back({section_, language, ""});
        fenced_ = !fenced_;
        in_indented_ = false;
    }

    void indented(const std::string& line) {
        if (!in_indented_) into_.blocks.push_back({section_, "indented", ""});
        in_indented_ = true;
        into_.blocks.back().text += line + '\n';
    }

    void prose(const std::string& line) {
        in_indented_ = false;
        if (line.starts_with('#')) {
            section_ = trimmed(line.substr(line.find_first_not_of('#')));
            into_.sections.push_back(section_);
        }
        if (!line.starts_with('|')) header_.clear();
        if (line.starts_with('|') && !line.starts_with("| ---") && !line.starts_with("|---")) row(cells_of(line));
        for (const std::string& span : code_spans(line)) into_.spans.push_back(span);
        for (Link& link : links_in(line, into_.file)) into_.links.push_back(std::move(link));
    }

    void row(const std::vector<std::string>& cells) {
        if (header_.empty())
            header_ = cells;
        else
            into_.rows.push_back({section_, header_, cells});
    }

    Markdown& into_;
    std::string section_;
    std::vector<std::string> header_;
    bool fenced_ = false;
    bool in_indented_ = false;
};

} // namespace

std::string source_text(const std::string& file) {
    return base::read_file(source_path(file), 1 << 20);
}

std::vector<std::string> matches(const std::string& text, const std::string& expression) {
    regex_t compiled{};
    REQUIRE(::regcomp(&compiled, expression.c_str(), REG_EXTENDED | REG_NEWLINE) == 0);
    std::vector<std::string> found;
    std::array<regmatch_t, 2> match{};
    for (const char* at = text.c_str(); ::regexec(&compiled, at, match.size(), match.data(), 0) == 0;) {
        const regmatch_t& wanted = compiled.re_nsub > 0 ? match[1] : match[0];
        found.emplace_back(at + wanted.rm_so, at + wanted.rm_eo);
        at += std::max(match[0].rm_eo, 1); // an empty match must not stop the loop
    }
    ::regfree(&compiled);
    return found;
}

std::vector<std::string> code_spans(const std::string& text) {
    std::vector<std::string> spans;
    for (std::size_t at = text.find('`'); at != std::string::npos;) {
        const std::size_t end = text.find('`', at + 1);
        if (end == std::string::npos) break;
        spans.push_back(text.substr(at + 1, end - at - 1));
        at = text.find('`', end + 1);
    }
    return spans;
}

Markdown read_markdown(const std::string& file) {
    Markdown markdown{.file = file};
    Parser parser(markdown);
    for (const std::string& line : lines_of_text(source_text(file))) parser.take(line);
    return markdown;
}

const std::vector<Markdown>& documents() {
    static const std::vector<Markdown> all = [] {
        std::vector<Markdown> read{read_markdown("README.md")};
        for (const auto& page : fs::directory_iterator(source_path("docs")))
            if (page.path().extension() == ".md")
                read.push_back(read_markdown(concat("docs/", page.path().filename().string())));
        return read;
    }();
    return all;
}

} // namespace rdmanet::test
