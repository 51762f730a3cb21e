#include "api_server.hpp"

#include "files.hpp"

#include <rdmanet/attach/machine.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/config.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>
#include <vector>

namespace rdmanet::doctor {
namespace {

struct Kubeconfig {
    std::string_view file;
    std::string_view owner;
};
constexpr Kubeconfig kOfNode[] = {{"/etc/cni/net.d/multus.d/multus.kubeconfig", "Multus"},
                                  {"/etc/cni/net.d/rdmanet.d/rdmanet.kubeconfig", "rdmanet"}};
constexpr http::Limits kLimits{.connect = std::chrono::milliseconds(1000), .request = std::chrono::milliseconds(1500)};

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
            users_.emplace_back(std::string(file), owner, kube::read_kubeconfig(path), kLimits);
        } catch (const base::Error& error) {
            add_trouble(error.what());
        }
    }
    if (users_.empty() && trouble_.empty())
        trouble_ = "neither Multus nor rdmanet has a kubeconfig in /etc/cni/net.d: name one with --kubeconfig";
}

void ApiServer::add_trouble(const std::string& text) {
    trouble_ += fmt::format("{}{}", trouble_.empty() ? "" : ", and ", text);
}

void ApiServer::add_failure(const User& user, const std::string& what, bool is_unauthorized) {
    if (std::none_of(failures_.begin(), failures_.end(), [&](const Failure& each) { return each.file == user.file; }))
        failures_.push_back({.file = user.file, .owner = user.owner, .what = what, .is_unauthorized = is_unauthorized});
}

const std::vector<ApiServer::Failure>& ApiServer::failures_of_node() {
    if (!kubeconfig_.empty()) throw base::Error("--kubeconfig names another user than those of this node");
    if (!has_read_) read_kubeconfigs();
    if (users_.empty()) throw base::Error(trouble_);
    return failures_;
}

bool ApiServer::has_kubeconfig() const {
    return !kubeconfig_.empty() || std::any_of(std::begin(kOfNode), std::end(kOfNode), [&](const Kubeconfig& each) {
        return exists(fmt::format("{}{}", root_, each.file));
    });
}

void ApiServer::require_named() const {
    if (kubeconfig_.empty()) return;
    const std::string path = fmt::format("{}{}", root_, kubeconfig_);
    if (!exists(path)) throw base::Error(fmt::format("--kubeconfig {}: there is no such file", kubeconfig_));
    (void)kube::read_kubeconfig(path);
}

/// nullopt if there is no answer. Who got none is not asked again. A server that says nothing is asked for nobody: that
/// would wait as long. Other troubles may be of this kubeconfig alone, such as a CA that has been replaced.
std::optional<kube::Outcome> ApiServer::ask(User& user, const std::string& path) {
    const auto deadline = base::Deadline::in(kLimits.request);
    try {
        return user.api.get(path, deadline);
    } catch (const http::TransportError& error) {
        add_trouble(error.what());
        add_failure(user, error.what(), false);
        const bool took_long = error.was_silent() || deadline.passed();
        for (User& other : users_)
            if (took_long && other.api.server() == user.api.server()) other.is_usable = false;
        user.is_usable = false;
        return std::nullopt;
    }
}

std::optional<json::Document> ApiServer::get(const std::string& path) {
    if (!has_read_) read_kubeconfigs();
    std::string refusal;
    for (User& user : users_) {
        if (!user.is_usable) continue;
        auto outcome = ask(user, path);
        if (!outcome) continue;
        if (auto* object = std::get_if<kube::Object>(&*outcome)) return std::move(object->content);
        const auto& refused = std::get<kube::Refused>(*outcome);
        if (refused.why == kube::Refusal::not_found) return std::nullopt;
        if (!is_about_rights(refused)) throw base::Error(refused.message);
        if (refused.why == kube::Refusal::unauthorized) add_failure(user, refused.message, true);
        if (refusal.empty())
            refusal = fmt::format("{}: allow that, or name another kubeconfig with --kubeconfig", refused.message);
    }
    throw base::Error(refusal.empty() ? trouble_ : refusal);
}

std::string ApiServer::node_name() const {
    std::string configured;
    const std::string text = content_of(fmt::format("{}{}", root_, ipam::kNodeFile));
    if (!text.empty()) {
        const json::Document file = json::Document::parse(text);
        if (const auto name = file.root().find("nodeName")) configured = name->string();
    }
    // In a container, the kernel's name of the host may be the container's.
    if (configured.empty() && !root_.empty())
        configured = base::to_lower(line_of(fmt::format("{}/etc/hostname", root_)));
    std::string name = attach::node_name_or_host(configured);
    if (!base::is_name_of_object(name)) // it becomes a part of requests' paths
        throw base::Error(
            fmt::format("no Node has the name {}: set \"nodeName\" in {}", base::quoted(name), ipam::kNodeFile));
    return name;
}

} // namespace rdmanet::doctor
