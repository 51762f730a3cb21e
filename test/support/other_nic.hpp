// Another software NIC than the harness's.
#pragma once

#include <string>

namespace rdmanet::test {

/// The command that unloads the software NIC's driver and loads it again, by default with the harness's parameters.
[[nodiscard]] std::string reloading_nic(const std::string& parameters = "");

/// The software NIC with these parameters; with the harness's own again at the end.
class OtherNic {
public:
    explicit OtherNic(const std::string& parameters);
    OtherNic(const OtherNic&) = delete;
    OtherNic& operator=(const OtherNic&) = delete;
    ~OtherNic();

    [[nodiscard]] static bool possible();
};

} // namespace rdmanet::test
