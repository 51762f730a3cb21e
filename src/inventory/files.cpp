#include <rdmanet/inventory/files.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace rdmanet::inventory {

std::string page_of(const std::string& path) {
    const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    char buffer[4096];
    const ssize_t count = fd ? ::read(fd.get(), buffer, sizeof buffer) : 0;
    return {buffer, count < 0 ? 0 : static_cast<std::size_t>(count)};
}

std::string line_of(const std::string& path) {
    const std::string page = page_of(path);
    return page.substr(0, page.find('\n'));
}

std::vector<std::string> names_in(const std::string& path, std::size_t most) {
    std::vector<std::string> names;
    try {
        base::DirectoryReader directory(path, true);
        for (auto entry = directory.next(); entry && names.size() < most; entry = directory.next())
            if (!entry->name.starts_with('.')) names.emplace_back(entry->name);
    } catch (const base::SystemError&) { // what could be read
    }
    std::ranges::sort(names);
    return names;
}

std::string link_name_of(const std::string& path) {
    const std::string target = link_target_of(path);
    return target.substr(target.rfind('/') + 1);
}

} // namespace rdmanet::inventory
