#include "golden.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>

#include <cstdlib>
#include <fstream>
#include <set>

namespace rdmanet::test {
namespace {

constexpr const char* kFile = RDMANET_SOURCE_DIR "/test/e2e/messages.golden";
constexpr std::size_t kMost = 500;
constexpr std::size_t kMostOfOne = 12; // of the same character

std::set<std::string> lines_of_file() {
    std::ifstream file(kFile);
    std::set<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.insert(line);
    return lines;
}

void write(const std::set<std::string>& lines) {
    std::ofstream file(kFile);
    for (const std::string& line : lines) file << line << '\n';
    if (!file.flush()) throw base::Error(concat("write ", kFile));
}

/// Those of `some` that `others` lack.
std::string missing_from(const std::set<std::string>& others, const std::set<std::string>& some, const char* sign) {
    std::string text;
    for (const std::string& line : some)
        if (!others.contains(line)) text += concat(sign, line, '\n');
    return text;
}

} // namespace

void Golden::add(const std::string& message) {
    if (message.empty()) return;
    std::string line;
    std::size_t same = 0;
    for (const char c : message) {
        same = !line.empty() && line.back() == c ? same + 1 : 1;
        if (same <= kMostOfOne) line += c == '\n' ? ' ' : c;
    }
    if (line.size() > kMost) line = line.substr(0, kMost) + "...";
    lines_.insert(line);
}

std::string Golden::difference() const {
    if (std::getenv("RDMANET_WRITE_MESSAGES") != nullptr) write(lines_);
    const std::set<std::string> before = lines_of_file();
    return missing_from(lines_, before, "- ") + missing_from(before, lines_, "+ ");
}

} // namespace rdmanet::test
