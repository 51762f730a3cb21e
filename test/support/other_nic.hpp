// Replaces the harness's software NIC.
#pragma once

#include <string>

namespace rdmanet::test {

/// The command that unloads the software NIC's driver and loads it again. The default has the harness's parameters.
[[nodiscard]] std::string reloading_nic(const std::string& parameters = "");

/// The software NIC with these parameters. At the end it gets the harness's parameters again.
class OtherNic {
public:
    explicit OtherNic(const std::string& parameters);
    OtherNic(const OtherNic&) = delete;
    OtherNic& operator=(const OtherNic&) = delete;
    ~OtherNic();

    [[nodiscard]] static bool possible();
};

} // namespace rdmanet::test
