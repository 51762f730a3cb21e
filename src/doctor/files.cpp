#include "files.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace rdmanet::doctor {

namespace {

constexpr std::size_t kMostRead = 256U << 10U;

std::vector<std::string> lines_in(const std::string& content) {
    std::istringstream text(content);
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
}

} // namespace

bool is_configuration(const std::string& name) {
    return name.ends_with(".conf") || name.ends_with(".conflist") || name.ends_with(".json");
}

std::vector<NetworkFile> list_network_files(const std::string& root) {
    std::vector<NetworkFile> files;
    for (const char* folder : kNetworkFolders)
        for (const std::string& name : names_in(fmt::format("{}{}", root, folder))) {
            if (!is_configuration(name)) continue;
            std::string path = fmt::format("{}/{}", folder, name);
            std::string text = content_of(fmt::format("{}{}", root, path));
            files.push_back({.path = std::move(path), .text = std::move(text)});
        }
    return files;
}

bool exists(const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

std::string content_of(const std::string& path) try {
    return base::read_named_file_if_exists(path, kMostRead).value_or("");
} catch (const base::Error&) {
    return {};
}

std::vector<std::string> lines_of(const std::string& path) {
    return lines_in(content_of(path));
}

std::vector<std::string> begin_lines_of(const std::string& path) {
    return lines_in(inventory::page_of(path));
}

std::vector<std::string> end_lines_of(const std::string& path) {
    const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file) return {};
    const off_t size = ::lseek(file.get(), 0, SEEK_END);
    std::string text(kMostRead, '\0');
    const ssize_t count =
        ::pread(file.get(), text.data(), text.size(), std::max<off_t>(0, size - static_cast<off_t>(kMostRead)));
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return lines_in(text);
}

} // namespace rdmanet::doctor
