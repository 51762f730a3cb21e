// How to reach a Kubernetes API server, and as whom: a kubeconfig file, or the ServiceAccount of a pod.
#pragma once

#include <rdmanet/base/error.hpp>
#include <rdmanet/http/client.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::kube {

/// A kubeconfig file, or a ServiceAccount, that can't be used. The message names the file, the place in it, and what to
/// do. It never has a secret in it.
class KubeconfigError : public base::Error {
public:
    using Error::Error;
};

struct Access {
    http::Url server;
    http::TlsSettings tls;
    std::optional<http::Proxy> proxy;
    std::string authorization; // the header's value; empty: the client certificate says who it is, or nobody does
    std::string user;          // what the kubeconfig calls it, for messages
    std::string name_space;    // of the context; empty if it names none
    std::vector<std::string> warnings;
};

/// The current context of the file. Files that it names are read now, relative ones beside the file (client-go,
/// tools/clientcmd, ResolveLocalPaths). `authorities` (PEM) are for a cluster that names none. If they are empty, such
/// a cluster is an error: a plugin does not trust everybody whom the node's browsers trust. `root` is where the host's
/// / is mounted: the file, those that it names, and the messages' paths are the host's. With a `directory`, the file
/// and those that it names must be below it (base::read_host_file_if_exists()). Throws KubeconfigError.
[[nodiscard]] Access read_kubeconfig(const std::string& path, const std::string& authorities = {},
                                     const std::string& root = {}, const std::string& directory = {});

inline constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

/// As the pod that this process runs in (client-go, rest.InClusterConfig()). nullopt outside of pods, which the
/// environment says. For commands of a person: the environment of a CNI call is the runtime's. Throws KubeconfigError.
[[nodiscard]] std::optional<Access> find_access_of_pod(const std::string& directory = kServiceAccount);
/// Whether this process runs in a pod that has a ServiceAccount's token. One without is not meant to ask the server.
[[nodiscard]] bool is_in_pod_with_account();

} // namespace rdmanet::kube
