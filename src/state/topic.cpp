#include <rdmanet/state/topic.hpp>

#include <rdmanet/base/format.hpp>

namespace rdmanet::state {

std::string device_topic(std::string_view device) {
    return fmt::format("device {}", device);
}

std::string parent_topic(unsigned ifindex) {
    return fmt::format("parent {}", ifindex);
}

std::string child_topic(unsigned parent_ifindex, std::string_view kind, std::string_view mode) {
    return fmt::format("parent {} kind {} mode {}", parent_ifindex, kind, mode);
}

std::string device_info_topic(std::string_view file_name) {
    return fmt::format("device-info {}", file_name);
}

} // namespace rdmanet::state
