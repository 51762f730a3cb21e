#pragma once

#include <rdmanet/config/config.hpp>

#include <string>

namespace rdmanet::config {

/// A network configuration of this plugin with further members, like "\"mtu\": 1400".
inline cni::NetConf conf_with(const std::string& members) {
    const std::string text = R"({"cniVersion": "1.0.0", "name": "n", "type": "rdmanet")";
    return cni::parse_net_conf(text + (members.empty() ? "" : ", ") + members + "}", cni::Strictness::strict);
}

inline Config config_with(const std::string& members) {
    return parse_config(conf_with(members));
}

} // namespace rdmanet::config
