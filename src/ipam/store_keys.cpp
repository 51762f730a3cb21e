#include "store_keys.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/host_file.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/node_file.hpp>

#include <set>
#include <utility>

namespace rdmanet::ipam {
namespace {

/// An error for which no pod may get an address, and existing ones go on.
void require_known_store(const StoreKeys& keys, Config& config) {
    if (config.fault || !keys.store || keys.store->text == "node") return;
    config.fault =
        json::ValueError(keys.store->where,
                         fmt::format("expected \"node\" or no such key, found {}: remove it; the AddressRanges of the "
                                     "cluster say where the addresses of a range are kept",
                                     base::quoted(keys.store->text)));
}

void require_kubeconfig(const StoreKeys& keys) {
    if (keys.kubeconfig || !keys.kubernetes) return;
    throw json::ValueError(
        keys.kubernetes->where,
        fmt::format("\"kubeconfig\" is missing: set it, here or in {}, or remove the key", kNodeFile));
}

/// whereabouts' installer keeps its kubeconfig there.
void warn_of_borrowed_kubeconfig(Config& config) {
    if (config.store.kubeconfig.find("/whereabouts.d/") != std::string::npos)
        config.warnings.push_back(fmt::format("kubeconfig {} belongs to whereabouts, and removing whereabouts ends its "
                                              "token: give rdmanet a ServiceAccount and a kubeconfig of its own",
                                              config.store.kubeconfig));
}

// Of "::1" and of "::/64" whereabouts makes names that begin with '-', which the API server refuses.
bool begins_with_colon(const base::IpPrefix& subnet) {
    return subnet.network().to_string().starts_with(':');
}

/// A pool has a record for each attachment, and nothing that says to which of its ranges the record belongs.
void require_different_pools(const json::Reader& ipam, const Config& config) {
    std::set<std::pair<std::string, std::string>> pools;
    for (const ConfiguredRange& range : config.ranges) {
        const base::IpPrefix& subnet = range.range.subnet();
        if (begins_with_colon(subnet))
            throw json::ValueError(ipam.path(),
                                   fmt::format("range {} has no name that an API server takes: use a range "
                                               "that does not begin with \"::\"",
                                               range.range));
        if (!pools.emplace(range.space, fmt::format("{}/{}", subnet.network(), subnet.length())).second)
            throw json::ValueError(
                ipam.path(),
                fmt::format("two ranges are in subnet {}, for which whereabouts has one pool: use different subnets",
                            subnet));
    }
}

void require_name_of_object(const json::Reader& ipam) {
    const auto name = ipam.find_filled("network_name");
    if (name && !base::is_name_of_object(name->string()))
        throw name->unexpected("lower-case letters, digits, '-' and '.', because the cluster has objects of that name");
}

void require_node_name(const StoreKeys& keys) {
    if (keys.node_name && !base::is_name_of_object(keys.node_name->text))
        throw json::ValueError(keys.node_name->where,
                               fmt::format("expected the name of a Node, of lower-case letters, digits, '-' and '.', "
                                           "found {}",
                                           base::quoted(keys.node_name->text)));
}

void warn_of_cooldown(const json::Reader& ipam, const Config& config, std::vector<std::string>& warnings) {
    const auto cooldown = ipam.find("cooldown");
    if (!cooldown || config.cooldown.count() == 0) return;
    warnings.push_back(fmt::format("{}: only the node that released an address waits for it, because whereabouts' "
                                   "pools have no place for the time: remove the key, unless that is enough",
                                   cooldown->path()));
}

/// Nothing records them there, so a range gives them as well.
void warn_of_static_addresses(const json::Reader& ipam, const Config& config, std::vector<std::string>& warnings) {
    for (const StaticAddress& given : config.addresses)
        for (const ConfiguredRange& range : config.ranges)
            if (range.range.contains(given.address.address()))
                warnings.push_back(fmt::format(
                    "{}: {} is not recorded in whereabouts' pools, and range {} may give it to another pod: add it "
                    "to \"exclude\"",
                    ipam.at("addresses").path(), given.address.address(), range.range));
}

[[noreturn]] void refuse_slices(const std::string& where) {
    throw json::ValueError(where, "slices are not supported: remove the key, and all nodes use the whole range");
}

/// whereabouts takes the key from its file for every network that reads the file. With its pools and ranges, we would
/// give what it gives from slices.
void require_no_slices(const json::Reader& ipam, const StoreKeys& keys, StoreKind kind) {
    if (const auto slices = ipam.find_filled("node_slice_size")) refuse_slices(slices->path());
    if (keys.slices && kind == StoreKind::cluster) refuse_slices(keys.slices->where);
}

PoolsFit fit_in_pools(const json::Reader& ipam, const Config& config) {
    PoolsFit fit;
    try {
        require_different_pools(ipam, config);
        warn_of_static_addresses(ipam, config, fit.warnings);
        warn_of_cooldown(ipam, config, fit.warnings);
    } catch (const json::ValueError& error) {
        fit.fault = error;
    }
    return fit;
}

void set_limits(const StoreKeys::Limits& keys, StoreLimits& limits) {
    limits.connect = keys.connect.value_or(limits.connect);
    limits.request = keys.request.value_or(limits.request);
    limits.add = keys.add.value_or(limits.add);
}

constexpr std::size_t kLargestNodeFile = 64U << 10U;

std::optional<StoreKeys::Value> find_value(const json::Reader& object, std::string_view key) {
    const auto member = object.find_filled(key);
    if (!member) return std::nullopt;
    return StoreKeys::Value{.text = member->string(), .where = member->path()};
}

std::optional<std::chrono::milliseconds> find_duration(const json::Reader& object, std::string_view key,
                                                       std::int64_t least, std::int64_t most) {
    const auto member = object.find(key);
    if (!member) return std::nullopt;
    return std::chrono::milliseconds(member->integer(least, most));
}

StoreKeys keys_in(const json::Reader& object) {
    StoreKeys keys;
    keys.store = find_value(object, "store");
    keys.node_name = find_value(object, "nodeName");
    const auto kubernetes = object.find("kubernetes");
    if (!kubernetes) return keys;
    kubernetes->expect_object();
    keys.kubernetes = StoreKeys::Value{.where = kubernetes->path()};
    keys.kubeconfig = find_value(*kubernetes, "kubeconfig");
    // Shorter ones than a busy server needs would only make it busier; with longer ones runtimes end the call.
    keys.of_kubernetes = {.connect = find_duration(*kubernetes, "connectTimeoutMs", 100, 30'000),
                          .request = find_duration(*kubernetes, "requestTimeoutMs", 100, 60'000),
                          .add = find_duration(*kubernetes, "addTimeoutMs", 1000, 90'000)};
    if (keys.kubeconfig && !keys.kubeconfig->text.starts_with('/'))
        throw kubernetes->at("kubeconfig").unexpected("the absolute path of a kubeconfig file on each node");
    return keys;
}

/// The content of a file is never shown: whoever writes networks must not read the node's files by it.
StoreKeys keys_in_text(const std::string& text, const std::string& file) try {
    const json::Document document = json::Document::parse(text);
    StoreKeys keys = keys_in(document.root());
    keys.slices = find_value(document.root(), "node_slice_size");
    for (auto* value : {&keys.store, &keys.kubernetes, &keys.kubeconfig, &keys.node_name, &keys.slices})
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
    const auto named = ipam.find_filled("configuration_path");
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
    if (ipam.find_filled("configuration_path"))
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
    return keys;
}

void choose_store(const json::Reader& ipam, const std::string& root, Config& config) {
    const StoreKeys keys = read_store_keys(ipam, root);
    require_known_store(keys, config);
    const bool is_on_node = (keys.store && keys.store->text == "node") || !keys.kubernetes || config.ranges.empty();
    config.store.kind = is_on_node ? StoreKind::node : StoreKind::cluster;
    require_no_slices(ipam, keys, config.store.kind);
    set_limits(keys.of_kubernetes, config.store.limits);
    require_kubeconfig(keys);
    require_node_name(keys);
    if (keys.kubeconfig) config.store.kubeconfig = keys.kubeconfig->text;
    if (keys.node_name) config.store.node_name = keys.node_name->text;
    config.store.kubeconfig_of_node = keys.kubeconfig_of_node;
    if (is_on_node) return;
    warn_of_borrowed_kubeconfig(config);
    require_name_of_object(ipam);
    config.store.in_pools = fit_in_pools(ipam, config);
}

Config settle_store(Config config, StoreKind kind) {
    const PoolsFit fit = std::exchange(config.store.in_pools, {});
    config.store.kind = kind;
    if (kind != StoreKind::pools) {
        // In blocks an address is given once in all ranges of a network name.
        for (ConfiguredRange& range : config.ranges) range.space = range.space.substr(0, range.space.find('@'));
        for (StaticAddress& given : config.addresses) given.space = given.space.substr(0, given.space.find('@'));
        return config;
    }
    if (fit.fault) throw json::ValueError(*fit.fault);
    config.warnings.insert(config.warnings.end(), fit.warnings.begin(), fit.warnings.end());
    return config;
}

} // namespace rdmanet::ipam
