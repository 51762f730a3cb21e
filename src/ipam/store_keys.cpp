#include "store_keys.hpp"

#include "address_text.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/host_file.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/node_file.hpp>

#include <utility>

namespace rdmanet::ipam {
namespace {

constexpr std::size_t kLargestNodeFile = 64U << 10U;

std::optional<StoreKeys::Value> find_value(const json::Reader& object, std::string_view key) {
    const auto member = find_text(object, key);
    if (!member) return std::nullopt;
    return StoreKeys::Value{.text = member->string(), .where = member->path()};
}

std::optional<std::chrono::milliseconds> find_duration(const json::Reader& object, std::string_view key,
                                                       std::int64_t least, std::int64_t most) {
    const auto member = object.find(key);
    if (!member) return std::nullopt;
    return std::chrono::milliseconds(member->integer(least, most));
}

/// Shorter ones than a busy server needs would only make it busier; with longer ones runtimes end the call.
StoreKeys::Limits limits_in(const json::Reader& object) {
    return {.connect = find_duration(object, "connectTimeoutMs", 100, 30'000),
            .request = find_duration(object, "requestTimeoutMs", 100, 60'000),
            .add = find_duration(object, "addTimeoutMs", 1000, 90'000)};
}

StoreKeys keys_in(const json::Reader& object) {
    StoreKeys keys;
    keys.store = find_value(object, "store");
    keys.node_name = find_value(object, "nodeName");
    const auto kubernetes = object.find("kubernetes");
    if (!kubernetes) return keys;
    kubernetes->expect_object();
    keys.kubernetes = StoreKeys::Value{.text = {}, .where = kubernetes->path()};
    keys.kubeconfig = find_value(*kubernetes, "kubeconfig");
    keys.of_kubernetes = limits_in(*kubernetes);
    if (keys.kubeconfig && !keys.kubeconfig->text.starts_with('/'))
        throw kubernetes->at("kubeconfig").unexpected("the absolute path of a kubeconfig file on each node");
    return keys;
}

/// The content of a file is never shown: whoever writes networks must not read the node's files by it.
StoreKeys keys_in_text(const std::string& text, const std::string& file) try {
    const json::Document document = json::Document::parse(text);
    StoreKeys keys = keys_in(document.root());
    keys.slices = find_value(document.root(), "node_slice_size");
    if (const auto etcd = document.root().find("etcd")) keys.etcd = StoreKeys::Value{.text = {}, .where = etcd->path()};
    for (auto* value : {&keys.store, &keys.kubernetes, &keys.kubeconfig, &keys.node_name, &keys.slices, &keys.etcd})
        if (*value) (*value)->where = fmt::format("{}: {}", file, (*value)->where);
    return keys;
} catch (const json::ParseError&) {
    throw json::ValueError(file, "it is not JSON: expected an object with \"store\" or \"kubernetes\"");
} catch (const json::ValueError& error) {
    throw json::ValueError(fmt::format("{}: {}", file, error.path()),
                           "it cannot be used: expected what a network has there in \"ipam\"");
}

/// nullopt if there is no such file. `where` is for the message.
std::optional<std::string> read_text(const std::string& file, const std::string& root, const std::string& directory,
                                     const std::string& where) try {
    return base::read_host_file_if_exists(root, file, kLargestNodeFile, directory);
} catch (const base::OutsideError& error) {
    throw json::ValueError(where, error.what());
} catch (const base::Error& error) {
    throw json::ValueError(where, fmt::format("it cannot be read ({}): name a file, or remove the key", error.what()));
}

/// Throws json::ValueError.
std::string directory_of(const json::Reader& named, const std::string& root) try {
    if (!named.string().starts_with('/')) throw named.unexpected("the absolute path of a file on each node");
    return read_node_file(root).directory_of(named.string());
} catch (const base::OutsideError& error) {
    throw json::ValueError(named.path(), error.what());
}

StoreKeys keys_of_file(const json::Reader& ipam, const std::string& root) {
    const auto named = find_text(ipam, "configuration_path");
    const std::string file = named ? named->string() : kNodeFile;
    const auto text = read_text(file, root, named ? directory_of(*named, root) : "", named ? named->path() : file);
    if (text) return keys_in_text(*text, file);
    if (named)
        throw json::ValueError(named->path(),
                               fmt::format("this node has no file {}: write it, or remove the key", file));
    return {};
}

std::vector<std::string> directories_in(const json::Reader& list) {
    std::vector<std::string> directories;
    for (const json::Reader& at : list.elements()) {
        std::string& directory = directories.emplace_back(at.string());
        if (!directory.starts_with('/')) throw at.unexpected("the absolute path of a directory on the node");
        while (directory.ends_with('/')) directory.pop_back();
    }
    return directories;
}

} // namespace

std::string NodeFile::directory_of(const std::string& file) const {
    if (file == kubeconfig || file == kNodeFile) return {};
    for (const std::string& directory : directories)
        if (file.starts_with(directory + '/')) return directory;
    throw base::OutsideError(
        fmt::format("{} is not below a directory whose files networks may use ({}): move it there, or add its "
                    "directory to \"directories\" in {}",
                    file, base::join(directories), kNodeFile));
}

NodeFile read_node_file(const std::string& root) {
    NodeFile file;
    const auto text = read_text(kNodeFile, root, {}, kNodeFile);
    if (!text) return file;
    const StoreKeys keys = keys_in_text(*text, kNodeFile);
    if (keys.kubeconfig) file.kubeconfig = keys.kubeconfig->text;
    if (keys.node_name) file.node_name = keys.node_name->text;
    const auto in_milliseconds = [](const std::optional<std::chrono::milliseconds>& limit) {
        return limit ? std::optional(static_cast<std::uint32_t>(limit->count())) : std::nullopt;
    };
    file.connect_timeout = in_milliseconds(keys.of_kubernetes.connect);
    file.request_timeout = in_milliseconds(keys.of_kubernetes.request);
    const json::Document document = json::Document::parse(*text);
    if (const auto list = document.root().find("directories"))
        file.directories = base::in_context(kNodeFile, [&] { return directories_in(*list); });
    return file;
}

StoreKeys read_store_keys(const json::Reader& ipam, const std::string& root) {
    StoreKeys keys = keys_in(ipam);
    StoreKeys of_file = keys_of_file(ipam, root);
    if (find_text(ipam, "configuration_path"))
        keys.kubeconfig_of_node = read_node_file(root).kubeconfig;
    else if (of_file.kubeconfig)
        keys.kubeconfig_of_node = of_file.kubeconfig->text;
    if (!keys.store) keys.store = std::move(of_file.store);
    if (!keys.kubernetes) keys.kubernetes = std::move(of_file.kubernetes);
    if (!keys.kubeconfig) keys.kubeconfig = std::move(of_file.kubeconfig);
    for (const auto limit : {&StoreKeys::Limits::connect, &StoreKeys::Limits::request, &StoreKeys::Limits::add})
        if (!(keys.of_kubernetes.*limit)) keys.of_kubernetes.*limit = of_file.of_kubernetes.*limit;
    if (!keys.node_name) keys.node_name = std::move(of_file.node_name);
    keys.slices = std::move(of_file.slices);
    keys.etcd = std::move(of_file.etcd);
    return keys;
}

} // namespace rdmanet::ipam
