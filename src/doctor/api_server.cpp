#include "api_server.hpp"

#include "files.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/node_file.hpp>
#include <rdmanet/leases/machine.hpp>

#include <algorithm>
#include <chrono>
#include <variant>

namespace rdmanet::doctor {
namespace {

struct Kubeconfig {
    std::string_view file;
    std::string_view owner;
};
constexpr Kubeconfig kOfNode[] = {{"/etc/cni/net.d/multus.d/multus.kubeconfig", "Multus"},
                                  {"/etc/cni/net.d/rdmanet.d/rdmanet.kubeconfig", "rdmanet"}};
constexpr http::Limits kLimits{.connect = std::chrono::milliseconds(1000),
                               .request = std::chrono::milliseconds(1500),
                               .most_bytes = http::kMostOfPage};

/// Where distributions keep the authorities that programs trust: Debian's, Fedora's, openSUSE's and Alpine's.
constexpr std::string_view kAuthorities[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                             "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

/// Empty if the host has none.
std::string system_authorities(const std::string& root) {
    constexpr std::size_t kMost = 4U << 20U;
    for (const std::string_view file : kAuthorities) try {
            if (auto text = base::read_named_file_if_exists(fmt::format("{}{}", root, file), kMost)) return *text;
        } catch (const base::Error&) {
            continue; // it must not be read
        }
    return {};
}

bool is_about_rights(const kube::Refused& refused) {
    return refused.why == kube::Refusal::forbidden || refused.why == kube::Refusal::unauthorized;
}

} // namespace

void ApiServer::read_kubeconfigs() {
    has_read_ = true;
    std::vector<Kubeconfig> all(std::begin(kOfNode), std::end(kOfNode));
    if (!kubeconfig_.empty()) all = {{kubeconfig_, ""}};
    for (const auto& [file, owner] : all) {
        const std::string path = fmt::format("{}{}", root_, file);
        if (kubeconfig_.empty() && !exists(path)) continue;
        try {
            users_.emplace_back(std::string(file), owner, access_of(std::string(file)), kLimits);
        } catch (const base::Error& error) {
            add_trouble(error.what());
        }
    }
    if (users_.empty() && trouble_.empty())
        trouble_ = "neither Multus nor rdmanet has a kubeconfig in /etc/cni/net.d: name one with --kubeconfig";
}

/// As kubectl does, which trusts the system's authorities if the kubeconfig names none.
kube::Access ApiServer::access_of(const std::string& file) const {
    return kube::read_kubeconfig(file, system_authorities(root_), root_);
}

void ApiServer::add_trouble(const std::string& text) {
    trouble_ += fmt::format("{}{}", trouble_.empty() ? "" : ", and ", text);
}

void ApiServer::add_failure(const User& user, Trouble trouble, const std::string& what) {
    if (std::ranges::none_of(failures_, [&](const Failure& each) { return each.file == user.file; }))
        failures_.push_back({.file = user.file, .owner = user.owner, .trouble = trouble, .what = what});
}

void ApiServer::give_up(User& user, Trouble trouble, const std::string& what) {
    user.is_usable = false;
    add_trouble(what);
    add_failure(user, trouble, what);
}

const std::vector<ApiServer::Failure>& ApiServer::failures_of_node() {
    if (!kubeconfig_.empty()) throw base::Error("--kubeconfig names another user than those of this node");
    if (!has_read_) read_kubeconfigs();
    if (users_.empty()) throw base::Error(trouble_);
    return failures_;
}

void ApiServer::require_named() const {
    if (kubeconfig_.empty()) return;
    const std::string path = fmt::format("{}{}", root_, kubeconfig_);
    if (!exists(path)) throw base::Error(fmt::format("--kubeconfig {}: there is no such file", kubeconfig_));
    (void)access_of(kubeconfig_);
}

/// nullopt if there is no answer. Who got none is not asked again. A server that says nothing is asked for nobody: that
/// would wait as long. Other troubles may be of this kubeconfig alone, such as a CA that has been replaced.
std::optional<kube::Outcome> ApiServer::ask(User& user, const std::string& path) {
    const auto deadline = base::Deadline::in(kLimits.request);
    try {
        return user.api.get(path, deadline);
    } catch (const http::TransportError& error) {
        give_up(user, Trouble::silent, error.what());
        const bool took_long = error.was_silent() || deadline.passed();
        for (User& other : users_)
            if (took_long && other.api.server() == user.api.server()) other.is_usable = false;
        return std::nullopt;
    }
}

/// Another server may answer 404 to whatever it is asked. Everybody may ask an API server for its version (ClusterRole
/// system:public-info-viewer); one that forbids that says by its answer that it knows the path.
bool ApiServer::is_of_cluster(User& user) {
    constexpr const char* kPath = "/version";
    if (user.is_of_cluster) return true;
    const auto outcome = ask(user, kPath);
    if (!outcome) return false;
    const auto* object = std::get_if<kube::Object>(&*outcome);
    const auto* refused = std::get_if<kube::Refused>(&*outcome);
    const bool has_version =
        object != nullptr && object->content.root().is_object() && object->content.root().find("gitVersion");
    user.is_of_cluster = has_version || (refused != nullptr && is_about_rights(*refused));
    if (!user.is_of_cluster)
        give_up(user, Trouble::no_cluster,
                refused != nullptr
                    ? refused->message
                    : fmt::format("{}: GET {}: the answer has no \"gitVersion\"", user.api.server(), kPath));
    return user.is_of_cluster;
}

std::optional<json::Document> ApiServer::get(const std::string& path) {
    auto at = answers_.find(path);
    if (at == answers_.end()) at = answers_.emplace(path, ask_all(path)).first;
    return at->second;
}

std::optional<json::Document> ApiServer::ask_all(const std::string& path) {
    if (!has_read_) read_kubeconfigs();
    std::string refusal;
    for (User& user : users_) {
        if (!user.is_usable) continue;
        auto outcome = ask(user, path);
        if (!outcome) continue;
        if (auto* object = std::get_if<kube::Object>(&*outcome)) return std::move(object->content);
        const auto& refused = std::get<kube::Refused>(*outcome);
        if (refused.why == kube::Refusal::not_found) {
            if (is_of_cluster(user)) return std::nullopt;
        } else if (!is_about_rights(refused)) {
            give_up(user, Trouble::failing, refused.message);
        } else {
            if (refused.why == kube::Refusal::unauthorized) add_failure(user, Trouble::unauthorized, refused.message);
            if (refusal.empty())
                refusal = fmt::format("{}: allow that, or name another kubeconfig with --kubeconfig", refused.message);
        }
    }
    throw base::Error(refusal.empty() ? trouble_ : refusal);
}

std::string ApiServer::node_name() const {
    std::string configured;
    const std::string text = content_of(fmt::format("{}{}", root_, ipam::kNodeFile));
    if (!text.empty()) try {
            const json::Document file = json::Document::parse(text);
            if (const auto name = file.root().find("nodeName")) configured = name->string();
        } catch (const base::Error& error) {
            throw base::Error(fmt::format("{}: {}", ipam::kNodeFile, error.what()));
        }
    // In a container, the kernel's name of the host may be the container's.
    if (configured.empty() && !root_.empty())
        configured = base::to_lower(line_of(fmt::format("{}/etc/hostname", root_)));
    std::string name = leases::node_name_or_host(configured);
    if (!base::is_name_of_object(name)) // it becomes a part of requests' paths
        throw base::Error(
            fmt::format("no Node has the name {}: set \"nodeName\" in {}", base::quoted(name), ipam::kNodeFile));
    return name;
}

} // namespace rdmanet::doctor
