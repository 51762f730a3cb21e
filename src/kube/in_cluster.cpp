#include <rdmanet/kube/access.hpp>

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <unistd.h>

#include <cstdlib>

namespace rdmanet::kube {
namespace {

constexpr std::size_t kMostBytes = 1U << 20U;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::string trimmed(std::string text) {
    while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.pop_back();
    return text;
}

bool is_in_pod() {
    return !variable("KUBERNETES_SERVICE_HOST").empty() && !variable("KUBERNETES_SERVICE_PORT").empty();
}

/// A file of the pod's ServiceAccount.
std::string read_own(const std::string& directory, const char* name) {
    const std::string path = fmt::format("{}/{}", directory, name);
    std::optional<std::string> content;
    try {
        content = base::read_named_file_if_exists(path, kMostBytes);
    } catch (const base::Error& error) {
        throw KubeconfigError(fmt::format("ServiceAccount of this pod: {}", error.what()));
    }
    if (!content)
        throw KubeconfigError(fmt::format("ServiceAccount of this pod: {} is missing: give the pod a "
                                          "serviceAccountName, and do not set automountServiceAccountToken to false",
                                          path));
    return *std::move(content);
}

} // namespace

bool is_in_pod_with_account() {
    return is_in_pod() && ::access(kServiceAccount, F_OK) == 0;
}

std::optional<Access> find_access_of_pod(const std::string& directory) {
    if (!is_in_pod()) return std::nullopt;
    const std::string host = variable("KUBERNETES_SERVICE_HOST");
    const std::string port = variable("KUBERNETES_SERVICE_PORT");
    Access access;
    const std::string in_brackets = host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
    try {
        access.server = http::Url::parse(fmt::format("https://{}:{}", in_brackets, port));
    } catch (const base::UrlError& error) {
        throw KubeconfigError(fmt::format("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT: {}", error.what()));
    }
    access.tls.authorities = read_own(directory, "ca.crt");
    const std::string token = trimmed(read_own(directory, "token"));
    if (token.empty() || !base::is_printable_utf8(token))
        throw KubeconfigError(fmt::format("ServiceAccount of this pod: {}/token {}", directory,
                                          token.empty() ? "is empty" : "has control characters in it"));
    access.authorization = fmt::format("Bearer {}", token);
    access.user = "the pod's ServiceAccount";
    access.name_space = trimmed(read_own(directory, "namespace"));
    return access;
}

} // namespace rdmanet::kube
