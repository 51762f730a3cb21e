#include <rdmanet/kernel/mountinfo.hpp>

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>

#include <sys/sysmacros.h>

namespace rdmanet::kernel {

std::optional<std::string> read_mountinfo(const std::string& process) {
    return base::read_file_if_exists(fmt::format("{}/mountinfo", process), kMostMountinfoBytes);
}

std::string_view find_mount(dev_t device, std::string_view mountinfo) {
    const std::size_t at = mountinfo.find(fmt::format(" {}:{} ", major(device), minor(device)));
    if (at == std::string_view::npos) return {};
    const std::size_t begin = mountinfo.rfind('\n', at) + 1; // npos + 1 is 0
    return mountinfo.substr(begin, mountinfo.find('\n', at) - begin);
}

} // namespace rdmanet::kernel
