#include <rdmanet/kube/access.hpp>

#include <rdmanet/base/base64.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/host_file.hpp>
#include <rdmanet/base/late_start.hpp>
#include <rdmanet/base/text.hpp>

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string_view>

namespace rdmanet::kube {
namespace {

using base::quoted;

constexpr std::size_t kMostBytes = 1U << 20U;

/// What ends up in a header must not end it.
bool is_header_text(std::string_view text) {
    for (const char c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
    return true;
}

/// RFC 3986, section 2.1.
std::optional<std::string> decode_percent(std::string_view text) {
    std::string decoded;
    for (; !text.empty(); text.remove_prefix(1)) {
        decoded += text.front();
        if (text.front() != '%') continue;
        const auto byte = base::parse_integer<unsigned char>(text.substr(1, 2), 16);
        if (text.size() < 3 || !byte) return std::nullopt;
        decoded.back() = static_cast<char>(*byte);
        text.remove_prefix(2);
    }
    return decoded;
}

class Kubeconfig {
public:
    Kubeconfig(const std::string& path, const std::string& authorities, const std::string& root,
               const std::string& directory)
        : path_(path), authorities_(authorities), host_root_(root), directory_(directory) {
        try {
            const auto text = base::read_host_file_if_exists(root, path, kMostBytes, directory);
            if (!text) fail("", "is missing on this node: write it, or correct \"kubeconfig\"");
            root_ = YAML::Load(*text);
        } catch (const YAML::Exception& error) {
            fail("", fmt::format("is not YAML: line {}, column {}", error.mark.line + 1, error.mark.column + 1));
        } catch (const KubeconfigError&) {
            throw;
        } catch (const base::Error& error) {
            throw KubeconfigError(fmt::format("kubeconfig: {}", error.what()));
        }
        if (!root_.IsMap()) fail("", "is not a kubeconfig: expected a map at the top level");
    }

    Access access() {
        const std::string name = text(root_, "current-context");
        if (name.empty())
            fail("current-context",
                 fmt::format(
                     "is not set: name one of its contexts with `kubectl config --kubeconfig={} use-context NAME`",
                     path_));
        const YAML::Node context = entry("contexts", name, "context");
        Access access;
        access.user = text(context, "user");
        access.name_space = text(context, "namespace");
        read_cluster(entry("clusters", text(context, "cluster"), "cluster"), access);
        if (!access.user.empty()) read_user(entry("users", access.user, "user"), access);
        return access;
    }

private:
    [[noreturn]] void fail(std::string_view where, std::string_view what) const {
        throw KubeconfigError(fmt::format("kubeconfig {}: {}{}{}", path_, where, where.empty() ? "" : " ", what));
    }

    /// Empty if it is absent.
    [[nodiscard]] std::string text(const YAML::Node& map, const char* key) const {
        const YAML::Node value = map[key];
        if (!value || value.IsNull()) return {};
        if (!value.IsScalar()) fail(key, "has the wrong type: expected text");
        return value.Scalar();
    }

    [[nodiscard]] bool flag(const YAML::Node& map, const char* key) const {
        const std::string value = text(map, key);
        if (value != "true" && value != "false" && !value.empty())
            fail(key, "has the wrong type: expected true or false");
        return value == "true";
    }

    /// What stands under `part` in the element of `list` that has the name.
    [[nodiscard]] YAML::Node entry(const char* list, const std::string& name, const char* part) const {
        const YAML::Node elements = root_[list];
        if (elements && elements.IsSequence())
            for (const YAML::Node& element : elements)
                if (element.IsMap() && text(element, "name") == name) {
                    const YAML::Node content = element[part];
                    if (!content || !content.IsMap())
                        fail(fmt::format("{}[{}].{}", list, quoted(name), part), "is missing");
                    return content;
                }
        fail(list, fmt::format("has no entry {}, which the current context needs", quoted(name)));
    }

    /// KEY names a file, KEY-data has its content in base64, and counts if both are there (client-go,
    /// tools/clientcmd).
    [[nodiscard]] std::string file_or_data(const YAML::Node& map, const char* key) const {
        const std::string data_key = fmt::format("{}-data", key);
        if (const std::string data = text(map, data_key.c_str()); !data.empty()) {
            auto bytes = base::decode_base64(data);
            if (!bytes) fail(data_key, "is not base64");
            return *std::move(bytes);
        }
        const std::string file = text(map, key);
        return file.empty() ? std::string() : read_beside(key, file);
    }

    [[nodiscard]] std::string read_beside(const char* key, const std::string& file) const {
        const std::string directory = path_.substr(0, path_.rfind('/') + 1);
        const std::string whole = file.starts_with('/') ? file : directory + file;
        if (!base::is_printable_utf8(whole)) fail(key, fmt::format("names {}, which is no path", quoted(file)));
        try {
            if (auto content = base::read_host_file_if_exists(host_root_, whole, kMostBytes, directory_))
                return *std::move(content);
        } catch (const base::OutsideError&) {
            fail(key, fmt::format("names {}, but a kubeconfig that a network names must have its files below {}, "
                                  "without a link that leads out of it: copy the file there, or let the node's "
                                  "rdmanet.conf name this kubeconfig",
                                  whole, directory_));
        } catch (const base::Error& error) {
            fail(key, fmt::format("cannot be read: {}", error.what()));
        }
        fail(key, fmt::format("names {}, which is missing on this node: copy it there", whole));
    }

    void read_cluster(const YAML::Node& cluster, Access& access) const {
        try {
            access.server = http::Url::parse(text(cluster, "server"));
        } catch (const base::UrlError& error) {
            fail("cluster:", error.what());
        }
        if (const std::string proxy = text(cluster, "proxy-url"); !proxy.empty()) read_proxy(proxy, access);
        access.tls.authorities = file_or_data(cluster, "certificate-authority");
        access.tls.server_name = text(cluster, "tls-server-name");
        if (flag(cluster, "insecure-skip-tls-verify")) {
            access.tls.verify = http::Verify::nobody;
            access.warnings.push_back(fmt::format("kubeconfig {}: insecure-skip-tls-verify: anybody can pretend to be "
                                                  "the server: set certificate-authority-data instead",
                                                  path_));
        } else if (access.server.is_secure && access.tls.authorities.empty()) {
            access.tls.authorities = authorities_;
            if (authorities_.empty())
                fail("certificate-authority-data",
                     "is missing: expected it, or certificate-authority, for an https server");
        }
    }

    /// http://[USER[:PASSWORD]@]HOST:PORT. Variables of the environment name no proxy: a runtime's are for other things.
    void read_proxy(std::string url, Access& access) const {
        constexpr std::string_view kScheme = "http://";
        if (!url.starts_with(kScheme)) fail("proxy-url", "is not supported: expected http://HOST:PORT");
        if (!access.server.is_secure) fail("proxy-url", "is not supported for an http server: name an https server");
        std::string authorization;
        if (const auto at = url.rfind('@'); at != std::string::npos) {
            const auto user = decode_percent(std::string_view(url).substr(kScheme.size(), at - kScheme.size()));
            if (!user) fail("proxy-url", "has a '%' in its user or password without two hexadecimal digits behind it");
            // Without a password the colon stays (RFC 7617, section 2).
            const char* colon = user->find(':') == std::string::npos ? ":" : "";
            authorization = fmt::format("Basic {}", base::encode_base64(*user + colon));
            url = fmt::format("{}{}", kScheme, url.substr(at + 1));
        }
        try {
            access.proxy = http::Proxy{.url = http::Url::parse(url), .authorization = std::move(authorization)};
        } catch (const base::UrlError& error) {
            fail("proxy-url:", error.what());
        }
        if (!access.proxy->url.base.empty()) fail("proxy-url", "has a path: expected http://HOST:PORT");
    }

    void read_user(const YAML::Node& user, Access& access) const {
        for (const char* plugin : {"exec", "auth-provider"})
            if (user[plugin])
                fail(plugin, "is not supported, because it runs another program: use a token, a tokenFile or a "
                             "client certificate, as for a ServiceAccount");
        access.tls.certificate = file_or_data(user, "client-certificate");
        access.tls.key = file_or_data(user, "client-key");
        if (access.tls.certificate.empty() != access.tls.key.empty())
            fail(access.tls.key.empty() ? "client-key" : "client-certificate", "is missing: both are needed");
        // A tokenFile is newer than a token beside it (client-go, tools/clientcmd, api.AuthInfo).
        std::string token = text(user, "token");
        if (const std::string file = text(user, "tokenFile"); !file.empty()) token = read_beside("tokenFile", file);
        while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' '))
            token.pop_back();
        if (!is_header_text(token)) fail("token", "has control characters in it");
        const std::string name = text(user, "username");
        if (!token.empty())
            access.authorization = fmt::format("Bearer {}", token);
        else if (!name.empty())
            access.authorization =
                fmt::format("Basic {}", base::encode_base64(fmt::format("{}:{}", name, text(user, "password"))));
        if (!access.authorization.empty() && !access.server.is_secure)
            access.warnings.push_back(fmt::format("kubeconfig {}: the token or password goes to {} in clear text, for "
                                                  "anybody on the way to read: name an https server",
                                                  path_, access.server.to_string()));
    }

    const std::string& path_;
    const std::string& authorities_;
    const std::string& host_root_;
    const std::string& directory_;
    YAML::Node root_;
};

} // namespace

Access read_kubeconfig(const std::string& path, const std::string& authorities, const std::string& root,
                       const std::string& directory) {
    base::start_late_parts(); // yaml-cpp's
    return Kubeconfig(path, authorities, root, directory).access();
}

} // namespace rdmanet::kube
