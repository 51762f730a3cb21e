#include <rdmanet/state/topic.hpp>

#include <rdmanet/base/text.hpp>

namespace rdmanet::state {

std::string device_topic(std::string_view device) {
    return base::concat("device ", device);
}

std::string parent_topic(unsigned ifindex) {
    return base::concat("parent ", ifindex);
}

std::string child_topic(unsigned parent_ifindex, std::string_view kind, std::string_view mode) {
    return base::concat("parent ", parent_ifindex, " kind ", kind, " mode ", mode);
}

std::string device_info_topic(std::string_view file_name) {
    return base::concat("device-info ", file_name);
}

} // namespace rdmanet::state
