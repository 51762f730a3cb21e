#include "support/other_nic.hpp"
#include "support/concat.hpp"

#include "support/process.hpp"

#include <cstdlib>

namespace rdmanet::test {

std::string reloading_nic(const std::string& parameters) {
    const char* harness = std::getenv("RDMANET_HARNESS_NIC");
    const std::string usual = harness != nullptr ? harness : "nics=2 ports=1 vfs=8";
    return concat("rmmod simrnic && insmod ", std::getenv("RDMANET_HARNESS_MODULE"), ' ',
                  parameters.empty() ? usual : parameters);
}

OtherNic::OtherNic(const std::string& parameters) {
    shell(reloading_nic(parameters));
}

OtherNic::~OtherNic() {
    (void)succeeds(reloading_nic());
}

bool OtherNic::possible() {
    return std::getenv("RDMANET_HARNESS_MODULE") != nullptr;
}

} // namespace rdmanet::test
