#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/inventory/files.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <string_view>

namespace rdmanet::inventory {

std::string line_of(const std::string& path) {
    const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    char buffer[4096];
    const ssize_t count = fd ? ::read(fd.get(), buffer, sizeof buffer) : -1;
    if (count <= 0) return {};
    const std::string_view text(buffer, static_cast<std::size_t>(count));
    return std::string(text.substr(0, text.find('\n')));
}

std::vector<std::string> names_in(const std::string& directory, std::size_t most) {
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
    std::vector<std::string> names;
    const dirent* entry = nullptr;
    while (open && names.size() < most && (entry = ::readdir(open.get())) != nullptr)
        if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    std::sort(names.begin(), names.end());
    return names;
}

std::string link_target_of(const std::string& path) {
    char target[PATH_MAX];
    const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    return length < 0 ? std::string() : std::string(target, static_cast<std::size_t>(length));
}

std::string link_name_of(const std::string& path) {
    const std::string target = link_target_of(path);
    return target.substr(target.rfind('/') + 1);
}

} // namespace rdmanet::inventory
