#include "golden.hpp"

#include "support/concat.hpp"
#include "support/source_path.hpp"

#include <rdmanet/base/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

namespace rdmanet::test {
namespace {

const std::string kFile = golden_file("messages.golden");
constexpr std::size_t kMost = 500;
constexpr std::size_t kMostOfOne = 12; // longest run of one character

using Sections = std::map<std::string, std::vector<std::string>>;

Sections sections_of_file() {
    std::ifstream file(kFile);
    Sections sections;
    std::string section;
    for (std::string line; std::getline(file, line);)
        if (line.starts_with('[') && line.ends_with(']'))
            section = line.substr(1, line.size() - 2);
        else if (!line.empty())
            sections[section].push_back(line);
    return sections;
}

void write(const Sections& sections) {
    std::ofstream file(kFile);
    const char* separator = "";
    for (const auto& [section, lines] : sections) {
        file << std::exchange(separator, "\n") << '[' << section << "]\n";
        for (const std::string& line : lines) file << line << '\n';
    }
    if (!file.flush()) throw base::Error(concat("write ", kFile));
}

/// The texts in `some` that `others` lacks.
std::string missing_from(const std::vector<std::string>& others, const std::vector<std::string>& some,
                         const char* sign) {
    std::string text;
    for (const std::string& line : some)
        if (std::find(others.begin(), others.end(), line) == others.end()) text += concat(sign, line, '\n');
    return text;
}

} // namespace

std::string golden_file(const std::string& name) {
    return source_path("test/e2e/" + name);
}

bool writes_messages() {
    return std::getenv("RDMANET_WRITE_MESSAGES") != nullptr;
}

std::string shortened(const std::string& message) {
    std::string line;
    std::size_t same = 0;
    for (const char c : message) {
        same = !line.empty() && line.back() == c ? same + 1 : 1;
        if (same <= kMostOfOne) line += c == '\n' ? ' ' : c;
    }
    if (line.size() > kMost) line = line.substr(0, kMost) + "...";
    return line;
}

void Golden::add(const std::string& message) {
    if (!message.empty()) lines_.push_back(shortened(message));
}

void Golden::add_lines(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) add(line);
}

std::string Golden::difference() const {
    Sections sections = sections_of_file();
    std::vector<std::string>& before = sections[section_];
    if (before == lines_) return {};
    if (writes_messages()) {
        before = lines_;
        write(sections);
        return {};
    }
    const std::string text = missing_from(lines_, before, "- ") + missing_from(before, lines_, "+ ");
    return text.empty() ? "the same lines, in another order or number\n" : text;
}

} // namespace rdmanet::test
