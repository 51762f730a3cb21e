// What is said of an InfiniBand port with a link that no subnet manager has configured.
#pragma once

namespace rdmanet::doctor {

constexpr const char* kNoSubnetManager = "no subnet manager has configured it";
constexpr const char* kSubnetManagerFix =
    "start a subnet manager in the fabric, for example opensm, or look into the log of the one that runs";

} // namespace rdmanet::doctor
