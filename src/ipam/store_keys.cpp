#include "store_keys.hpp"

#include "address_text.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/block_cut.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/node_file.hpp>

#include <bit>
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

unsigned parse_block_size(const json::Reader& at) {
    const auto size = static_cast<unsigned>(at.integer(1, kMostBlockSize));
    if (!std::has_single_bit(size)) throw at.unexpected("a power of two");
    return size;
}

/// One prefix, or a list of them.
std::vector<base::IpPrefix> parse_requestable(const json::Reader& member) {
    std::vector<base::IpPrefix> prefixes;
    for (const json::Reader& at : member.is_array() ? member.elements() : std::vector{member}) {
        const base::IpPrefix prefix = prefix_in(at, at.string());
        if (prefix.has_host_bits()) throw at.unexpected("the first address of a part of the range, with its length");
        prefixes.push_back(prefix);
    }
    return prefixes;
}

StoreKeys keys_in(const json::Reader& object) {
    StoreKeys keys;
    keys.store = find_value(object, "store");
    keys.node_name = find_value(object, "nodeName");
    if (const auto size = object.find("blockSize")) keys.block_size = parse_block_size(*size);
    if (const auto requestable = object.find("requestable")) keys.requestable = parse_requestable(*requestable);
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
        if (*value) {
            (*value)->where = fmt::format("{}: {}", file, (*value)->where);
            (*value)->file = file;
        }
    return keys;
} catch (const json::ParseError&) {
    throw json::ValueError(file, "it is not JSON: expected an object with \"store\" or \"kubernetes\"");
} catch (const json::ValueError& error) {
    throw json::ValueError(fmt::format("{}: {}", file, error.path()),
                           "it cannot be used: expected what a network has there in \"ipam\"");
}

StoreKeys keys_of_file(const json::Reader& ipam, const std::string& root) {
    const auto named = find_text(ipam, "configuration_path");
    const std::string file = named ? named->string() : kNodeFile;
    if (!file.starts_with('/')) throw named->unexpected("the absolute path of a file on each node");
    std::optional<std::string> text;
    try {
        text = base::read_named_file_if_exists(fmt::format("{}{}", root, file), kLargestNodeFile);
    } catch (const base::Error& error) {
        throw json::ValueError(named ? named->path() : file,
                               fmt::format("it cannot be read ({}): name a file, or remove the key", error.what()));
    }
    if (text) return keys_in_text(*text, file);
    if (named)
        throw json::ValueError(named->path(),
                               fmt::format("this node has no file {}: write it, or remove the key", file));
    return {};
}

} // namespace

NodeFile read_node_file() {
    const json::Document nothing = json::Document::parse("{}");
    StoreKeys keys = keys_of_file(nothing.root(), {});
    NodeFile file;
    if (keys.kubeconfig) file.kubeconfig = keys.kubeconfig->text;
    if (keys.node_name) file.node_name = keys.node_name->text;
    return file;
}

StoreKeys read_store_keys(const json::Reader& ipam, const std::string& root) {
    StoreKeys keys = keys_in(ipam);
    StoreKeys of_file = keys_of_file(ipam, root);
    if (!keys.store) keys.store = std::move(of_file.store);
    if (!keys.kubernetes) keys.kubernetes = std::move(of_file.kubernetes);
    if (!keys.kubeconfig) keys.kubeconfig = std::move(of_file.kubeconfig);
    for (const auto limit : {&StoreKeys::Limits::connect, &StoreKeys::Limits::request, &StoreKeys::Limits::add})
        if (!(keys.of_kubernetes.*limit)) keys.of_kubernetes.*limit = of_file.of_kubernetes.*limit;
    if (!keys.node_name) keys.node_name = std::move(of_file.node_name);
    keys.slices = std::move(of_file.slices);
    keys.etcd = std::move(of_file.etcd);
    if (!keys.block_size) keys.block_size = of_file.block_size;
    if (!keys.requestable) keys.requestable = std::move(of_file.requestable);
    return keys;
}

} // namespace rdmanet::ipam
