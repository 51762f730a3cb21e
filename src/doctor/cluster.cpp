// What the node's files say of the cluster: Multus, and tokens for the API server.
#include "checks.hpp"

#include "files.hpp"
#include "tokens.hpp"

#include <rdmanet/base/base64.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/json/reader.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>

namespace rdmanet::doctor {
namespace {

/// A socket's address has room for 107 characters. This leads to `path` also if that is longer.
std::string short_path_of(const base::UniqueFd& directory, const std::string& path) {
    return fmt::format("/proc/self/fd/{}{}", directory.get(), path.substr(path.rfind('/')));
}

/// Whether a process listens there. Connects, and sends nothing. Throws base::SystemError if this user must not.
bool is_listened_at(const std::string& path) {
    const std::string folder = path.substr(0, path.rfind('/'));
    const base::UniqueFd directory(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory && errno == ENOENT) return false;
    if (!directory) throw base::SystemError(fmt::format("open {}", folder), errno);
    const base::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) throw base::SystemError("socket", errno);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = short_path_of(directory, path);
    if (name.size() >= sizeof address.sun_path) throw base::SystemError(path, ENAMETOOLONG);
    std::memcpy(address.sun_path, name.data(), name.size());
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
    // EAGAIN: its queue of connections is full (unix_stream_connect(), net/unix/af_unix.c).
    if (errno == EAGAIN) return true;
    if (errno == ENOENT || errno == ECONNREFUSED) return false;
    throw base::SystemError(fmt::format("connect to {}", path), errno);
}

constexpr std::string_view kConfigurations = "/etc/cni/net.d";

/// What a configuration says of Multus.
struct First {
    std::string type;       // of the first plugin; empty if this is no configuration
    std::string socket;     // of the daemon, for type "multus-shim"
    std::string kubeconfig; // empty if it names none
    std::string trouble;    // why it cannot be read
};

/// The shim's key was "socketDir" before Multus 4 (multus-cni, docs/thick-plugin.md).
std::string socket_of(const json::Reader& plugin) {
    std::string directory = "/run/multus";
    for (const char* key : {"socketDir", "daemonSocketDir"})
        if (const auto value = plugin.find(key); value && !value->string().empty()) directory = value->string();
    return fmt::format("{}{}multus.sock", directory, directory.ends_with('/') ? "" : "/");
}

First first_plugin_of(const std::string& file) try {
    const json::Document document = json::Document::parse(content_of(file));
    const auto plugins = document.root().find("plugins");
    const auto list = plugins ? plugins->elements() : std::vector<json::Reader>{document.root()};
    const auto type = list.empty() ? std::nullopt : list.front().find("type");
    if (!type) return {};
    const auto kubeconfig = list.front().find("kubeconfig");
    return {.type = type->string(),
            .socket = socket_of(list.front()),
            .kubeconfig = kubeconfig ? kubeconfig->string() : std::string()};
} catch (const base::Error& error) {
    return {.trouble = error.what()};
}

/// The thick Multus' plugin only passes a call on. It waits for the socket, for up to a minute.
void check_daemon(const Context& context, const std::string& socket, Findings& found) {
    if (is_listened_at(context.path(socket))) return;
    found.failure("",
                  fmt::format("no process listens at {}, the socket of Multus' daemon, so pods stay in "
                              "ContainerCreating",
                              socket),
                  "`kubectl get pods -A -o wide` shows the pod of Multus on this node: look at its events and log; if "
                  "it was OOMKilled, raise the memory limit in its DaemonSet");
}

/// The daemon's pod may have a kubeconfig of its own.
void check_kubeconfig(const Context& context, const std::string& file, const std::string& kubeconfig, Findings& found) {
    if (kubeconfig.empty() || exists(context.path(kubeconfig))) return;
    found.failure(
        "",
        fmt::format("{} names kubeconfig {}, which is not there, so pods stay in ContainerCreating", file, kubeconfig),
        "restart the pod of Multus on this node, which writes it");
}

/// Runtimes take the first configuration by name (containerd's and CRI-O's ocicni).
void check_multus(const Context& context, Findings& found) {
    std::string first;
    for (const std::string& name : names_in(context.path(kConfigurations))) {
        if (!is_configuration(name)) continue;
        if (first.empty()) first = name;
        const First plugin = first_plugin_of(context.path(fmt::format("{}/{}", kConfigurations, name)));
        if (name == first && !plugin.trouble.empty()) {
            found.failure(
                "",
                fmt::format("runtimes take {}/{} first, and cannot read it: {}", kConfigurations, name, plugin.trouble),
                fmt::format("correct or remove {}/{}; restart the pod of Multus if that has written it",
                            kConfigurations, name));
            return;
        }
        const bool is_shim = plugin.type == "multus-shim";
        if (plugin.type != "multus" && !is_shim) continue;
        if (name != first)
            found.failure(
                "",
                fmt::format("runtimes use {}/{}, not {} of Multus, so pods get no secondary networks", kConfigurations,
                            first, name),
                fmt::format("remove {}/{}, or give it a name that sorts behind {}", kConfigurations, first, name));
        else if (is_shim)
            check_daemon(context, plugin.socket, found);
        else
            check_kubeconfig(context, fmt::format("{}/{}", kConfigurations, name), plugin.kubeconfig, found);
        return;
    }
    if (first.empty()) throw base::Error(fmt::format("{} has no configuration", kConfigurations));
    found.warning("", fmt::format("no configuration in {} is of Multus; the first is {}", kConfigurations, first),
                  "install Multus if pods shall get secondary networks");
}

/// When a token expires, in seconds of the epoch (RFC 7519, "exp"), if it says so.
std::optional<std::int64_t> expiry_of(const std::string& token) try {
    const std::size_t begin = token.find('.');
    const std::size_t end = token.find('.', begin + 1);
    if (begin == std::string::npos || end == std::string::npos) return std::nullopt;
    std::string payload = token.substr(begin + 1, end - begin - 1);
    std::ranges::replace(payload, '-', '+'); // base64url (RFC 7515, section 2)
    std::ranges::replace(payload, '_', '/');
    payload.append((4 - payload.size() % 4) % 4, '=');
    const auto text = base::decode_base64(payload);
    if (!text) return std::nullopt;
    const json::Document document = json::Document::parse(*text);
    const auto expiry = document.root().find("exp");
    constexpr std::int64_t kMost = std::int64_t{1} << 52;
    return expiry ? std::optional(expiry->integer(0, kMost)) : std::nullopt;
} catch (const base::Error&) {
    return std::nullopt;
}

std::string token_in(const std::string& file) {
    constexpr std::string_view kKey = "token:"; // in a kubeconfig, as a line of its own or in braces
    for (const std::string& line : lines_of(file)) {
        const std::size_t key = line.find(kKey);
        if (key == std::string::npos || (key != 0 && std::string_view(" {,").find(line[key - 1]) == std::string::npos))
            continue;
        const std::size_t begin = line.find_first_not_of(" \"", key + kKey.size());
        if (begin != std::string::npos) return line.substr(begin, line.find_first_of(" \",}", begin) - begin);
    }
    return file.ends_with("/token") ? line_of(file) : std::string();
}

} // namespace

std::string fix_of_token(std::string_view owner) {
    return owner == "rdmanet" ? "copy a new token to this node"
                              : fmt::format("restart the pod of {} on this node, which writes a new one", owner);
}

namespace {

struct TokenFile {
    std::string_view path;
    std::string_view owner;
};

constexpr TokenFile kTokenFiles[] = {
    {"/etc/cni/net.d/multus.d/multus.kubeconfig", "Multus"},
    {"/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig", "whereabouts"},
    {"/etc/cni/net.d/rdmanet.d/rdmanet.kubeconfig", "rdmanet"},
    {"/etc/cni/net.d/rdmanet.d/token", "rdmanet"},
};

void check_tokens(const Context& context, Findings& found) {
    bool any = false;
    for (const TokenFile& file : kTokenFiles) {
        const auto expiry = expiry_of(token_in(context.path(file.path)));
        any = any || expiry;
        const std::int64_t now = std::time(nullptr);
        if (!expiry || *expiry > now) continue;
        constexpr std::int64_t kMinute = 60;
        found.failure("",
                      fmt::format("the token in {} expired {} minutes ago, so the API server answers Unauthorized",
                                  file.path, (now - *expiry) / kMinute),
                      fix_of_token(file.owner));
    }
    if (!any) throw base::Error("no kubeconfig in /etc/cni/net.d has a token that says when it expires");
}

constexpr Check kClusterChecks[] = {
    {{"multus", Layer::cluster, "the configuration that runtimes use, and Multus' daemon"}, check_multus},
    {{"tokens", Layer::cluster, "tokens of Multus, whereabouts and rdmanet"}, check_tokens},
};

} // namespace

std::span<const Check> cluster_checks() {
    return kClusterChecks;
}

} // namespace rdmanet::doctor
