// The cluster's API server, as a kubeconfig of this node leads to it.
#pragma once

#include <rdmanet/json/reader.hpp>
#include <rdmanet/kube/api.hpp>

#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace rdmanet::doctor {

class ApiServer {
public:
    /// `root` is where the host's / is mounted. `kubeconfig` is a file of the host. If it is empty, the files of Multus
    /// and of rdmanet are tried in turn, because each may do what the other may not.
    ApiServer(std::string root, std::string kubeconfig) : root_(std::move(root)), kubeconfig_(std::move(kubeconfig)) {}

    /// An object, or a list; nullopt if the server does not have it. Waits for a server for one and a half seconds at
    /// most, and asks one that said nothing only once. Throws base::Error: there is no kubeconfig, no server gives an
    /// answer, or it refuses.
    [[nodiscard]] std::optional<json::Document> get(const std::string& path);

    /// What the cluster calls this node: "nodeName" in rdmanet's file on the node, or else the host's name, as the kubelet
    /// does. Throws base::Error.
    [[nodiscard]] std::string node_name() const;

private:
    struct User {
        User(kube::Access access, http::Limits limits) : api(std::move(access), limits) {}

        kube::Api api;
        bool is_usable = true;
    };

    void read_kubeconfigs();
    [[nodiscard]] std::optional<kube::Outcome> ask(User& user, const std::string& path);
    void add_trouble(const std::string& text);

    std::string root_;
    std::string kubeconfig_;
    bool has_read_ = false;
    std::deque<User> users_; // not a vector: they cannot be moved
    std::string trouble_;    // why nobody is there to ask
};

} // namespace rdmanet::doctor
