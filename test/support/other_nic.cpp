#include "support/other_nic.hpp"

#include "support/process.hpp"

#include <rdmanet/base/text.hpp>

#include <cstdlib>

namespace rdmanet::test {
namespace {

std::string reload(const std::string& parameters) {
    return base::concat("rmmod simrnic && insmod ", std::getenv("RDMANET_HARNESS_MODULE"), ' ', parameters);
}

} // namespace

OtherNic::OtherNic(const std::string& parameters) {
    shell(reload(parameters));
}

OtherNic::~OtherNic() {
    const char* chosen = std::getenv("RDMANET_HARNESS_NIC");
    (void)succeeds(reload(chosen != nullptr ? chosen : "nics=2 ports=1 vfs=8"));
}

bool OtherNic::possible() {
    return std::getenv("RDMANET_HARNESS_MODULE") != nullptr;
}

} // namespace rdmanet::test
