#include "support/source_path.hpp"

namespace rdmanet::test {

std::string source_path(const std::string& file) {
    return RDMANET_SOURCE_DIR "/" + file;
}

} // namespace rdmanet::test
