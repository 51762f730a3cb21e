// Calls as Multus makes them for a pod of Kubernetes.
#pragma once

#include "attachment_stage.hpp"

#include "support/concat.hpp"

#include <string>

namespace rdmanet::test {

/// The call for the container of pod "shop/NAME".
[[nodiscard]] inline PluginCall as_pod(PluginCall call, const std::string& name) {
    call.container = name;
    call.args = concat("K8S_POD_NAMESPACE=shop;K8S_POD_NAME=", name, ";K8S_POD_UID=uid-", name);
    return call;
}

} // namespace rdmanet::test
