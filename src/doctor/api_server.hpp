// The cluster's API server, as a kubeconfig of this node leads to it.
#pragma once

#include <rdmanet/json/reader.hpp>
#include <rdmanet/kube/api.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmanet::doctor {

class ApiServer {
public:
    /// `root` is where the host's / is mounted. `kubeconfig` is a file of the host. If it is empty, the files of Multus
    /// and of rdmanet are tried in turn, because each may do what the other may not.
    ApiServer(std::string root, std::string kubeconfig) : root_(std::move(root)), kubeconfig_(std::move(kubeconfig)) {}

    /// An object, or a list; nullopt if the server does not have it. Asks once for each path. Waits for a server for
    /// one and a half seconds at most, and asks one that said nothing, or failed, only once. Throws base::Error: there
    /// is no kubeconfig, no server gives an answer that helps, or it refuses.
    [[nodiscard]] std::optional<json::Document> get(const std::string& path);

    enum class Trouble : std::uint8_t {
        silent, // no answer
        unauthorized,
        failing,    // HTTP 5xx, or another error that is not about rights
        no_cluster, // another server answers there
    };
    /// A kubeconfig of this node that is of no use.
    struct Failure {
        std::string file;
        std::string_view owner; // "Multus", "rdmanet"
        Trouble trouble = Trouble::silent;
        std::string what;
    };
    /// As far as was asked until now. Throws base::Error if there is no kubeconfig, or `--kubeconfig` names one.
    [[nodiscard]] const std::vector<Failure>& failures_of_node();

    /// Throws base::Error if `--kubeconfig` names a file that is none.
    void require_named() const;

    /// What the cluster calls this node: "nodeName" in rdmanet's file on the node, or else the host's name, as the kubelet
    /// does. Throws base::Error.
    [[nodiscard]] std::string node_name() const;

private:
    struct User {
        User(std::string kubeconfig, std::string_view its_owner, kube::Access access, http::Limits limits)
            : file(std::move(kubeconfig)), owner(its_owner), api(std::move(access), limits) {}

        std::string file;       // on the host
        std::string_view owner; // empty for that of --kubeconfig
        kube::Api api;
        bool is_usable = true;
        bool is_of_cluster = false; // it has said so
    };

    void read_kubeconfigs();
    [[nodiscard]] std::optional<json::Document> ask_all(const std::string& path);
    [[nodiscard]] std::optional<kube::Outcome> ask(User& user, const std::string& path);
    [[nodiscard]] bool is_of_cluster(User& user);
    [[nodiscard]] kube::Access access_of(const std::string& file) const;
    void give_up(User& user, Trouble trouble, const std::string& what);
    void add_trouble(const std::string& text);
    void add_failure(const User& user, Trouble trouble, const std::string& what);

    std::string root_;
    std::string kubeconfig_;
    bool has_read_ = false;
    std::deque<User> users_; // not a vector: they cannot be moved
    std::string trouble_;    // why nobody is there to ask
    std::vector<Failure> failures_;
    std::map<std::string, std::optional<json::Document>> answers_; // by path
};

} // namespace rdmanet::doctor
