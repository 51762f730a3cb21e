#include "files.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>

#include <unistd.h>

#include <sstream>

namespace rdmanet::doctor {

bool exists(const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

std::string content_of(const std::string& path) try {
    constexpr std::size_t kMost = 256U << 10U;
    return base::read_named_file_if_exists(path, kMost).value_or("");
} catch (const base::Error&) {
    return {};
}

std::vector<std::string> lines_of(const std::string& path) {
    std::istringstream text(content_of(path));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
}

} // namespace rdmanet::doctor
