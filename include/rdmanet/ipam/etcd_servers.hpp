// The object `etcd` of a configuration: how to reach an etcd cluster. It has paths of files, and no secret.
#pragma once

#include <rdmanet/json/reader.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rdmanet::ipam {

struct EtcdServers {
    std::vector<std::string> endpoints; // "https://HOST:PORT"
    std::string ca;                     // who signed the servers' certificates; of https only
    std::string certificate;            // of the client, with its key; they secure the connection and name nobody
    std::string key;
    std::string username; // whose rights count; empty where etcd checks none
    std::string password_file;
    std::string prefix = "/rdmanet"; // of all keys
};

/// Who wrote the object. Whoever writes networks must not make a node send its passwords and keys to a server of their
/// choice.
enum class EtcdSource : std::uint8_t { network, node };

/// Throws json::ValueError.
[[nodiscard]] EtcdServers parse_etcd(const json::Reader& etcd, EtcdSource source);
/// Throws json::ValueError with that path if a password would cross the network unencrypted.
void expect_encrypted_password(const EtcdServers& servers, const std::string& where);
/// What parse_etcd() reads.
[[nodiscard]] std::string to_text(const EtcdServers& servers);

} // namespace rdmanet::ipam
