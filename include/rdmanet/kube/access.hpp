// How to reach a Kubernetes API server, and as whom: a kubeconfig file.
#pragma once

#include <rdmanet/base/error.hpp>
#include <rdmanet/http/client.hpp>

#include <string>
#include <vector>

namespace rdmanet::kube {

/// A kubeconfig file that can't be used. The message names the file, the place in it, and what to do. It never has a
/// secret in it.
class KubeconfigError : public base::Error {
public:
    using Error::Error;
};

struct Access {
    http::Url server;
    http::TlsSettings tls;
    std::string authorization; // the header's value; empty: the client certificate says who it is, or nobody does
    std::string user;          // what the kubeconfig calls it, for messages
    std::string name_space;    // of the context; empty if it names none
    std::vector<std::string> warnings;
};

/// The current context of the file. Files that it names are read now, relative ones beside the file (client-go,
/// tools/clientcmd, ResolveLocalPaths). Throws KubeconfigError.
[[nodiscard]] Access read_kubeconfig(const std::string& path);

} // namespace rdmanet::kube
