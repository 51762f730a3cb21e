#include "selectors.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/json/reader.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace rdmanet::doctor {
namespace {

using inventory::Device;

std::vector<std::string> texts_in(const json::Reader& list) {
    std::vector<std::string> texts;
    for (const json::Reader& each : list.elements()) texts.push_back(each.string());
    return texts;
}

struct Key {
    std::string_view text;
    Trait trait;
};
/// In the order in which the plugins apply them.
constexpr Key kOfSriov[] = {{"vendors", Trait::vendor},     {"devices", Trait::device_id},
                            {"drivers", Trait::driver},     {"pciAddresses", Trait::address},
                            {"pfNames", Trait::pf_name},    {"rootDevices", Trait::pf_address},
                            {"linkTypes", Trait::link_type}};
constexpr Key kOfShared[] = {{"vendors", Trait::vendor},
                             {"deviceIDs", Trait::device_id},
                             {"drivers", Trait::driver},
                             {"ifNames", Trait::interface},
                             {"linkTypes", Trait::link_type}};

/// An empty list is as good as none.
void add_selector(const json::Reader& object, const Key& key, std::vector<Selector>& all) {
    const auto list = object.find(key.text);
    std::vector<std::string> values = list ? texts_in(*list) : std::vector<std::string>{};
    if (!values.empty()) all.push_back({.key = key.text, .trait = key.trait, .values = std::move(values)});
}

Selector rdma_selector() {
    return {.key = "isRdma", .trait = Trait::rdma, .values = {"true"}};
}

std::vector<Selector> sriov_selectors_in(const json::Reader& object) {
    std::vector<Selector> all;
    for (const Key& key : kOfSriov) add_selector(object, key, all);
    const auto rdma = object.find("isRdma");
    if (rdma && rdma->boolean()) all.push_back(rdma_selector());
    return all;
}

/// "devices" is the older form of "ifNames", beside "selectors".
std::vector<Selector> shared_selectors_in(const json::Reader& entry) {
    std::vector<Selector> all;
    if (const auto selectors = entry.find("selectors"))
        for (const Key& key : kOfShared) add_selector(*selectors, key, all);
    add_selector(entry, {"devices", Trait::interface}, all);
    all.push_back(rdma_selector());
    return all;
}

std::string text_of(const json::Reader& object, std::string_view key) {
    const auto value = object.find(key);
    return value ? value->string() : std::string();
}

Pool pool_in(PluginKind kind, const json::Reader& entry) {
    const std::string prefix = text_of(entry, "resourcePrefix");
    const std::string name = entry.at("resourceName").string();
    Pool pool{.resource = prefix.empty() ? name : fmt::format("{}/{}", prefix, name)};
    const auto selectors = entry.find("selectors");
    if (kind == PluginKind::shared)
        pool.choices.push_back(shared_selectors_in(entry));
    else if (selectors && selectors->is_array())
        for (const json::Reader& each : selectors->elements()) pool.choices.push_back(sriov_selectors_in(each));
    else if (selectors)
        pool.choices.push_back(sriov_selectors_in(*selectors));
    return pool;
}

bool is_of_functions(const json::Reader& entry) {
    const std::string type = text_of(entry, "deviceType");
    return type.empty() || type == "netDevice";
}

/// A function's PF; the function itself if it is no VF. nullptr if the host does not show the PF.
const Device* pf_of(const Context& context, const Device& device) {
    if (!device.pci->pf) return &device;
    for (const Device& each : context.inventory.devices)
        if (each.pci && each.pci->address == *device.pci->pf) return &each;
    return nullptr;
}

/// nullopt if an interface is in a pod, where it may have another name than on the host.
std::optional<std::vector<std::string>> names_of(const Device* device) {
    std::vector<std::string> names;
    if (device == nullptr) return std::nullopt;
    for (const inventory::NetDevice& net : device->net) {
        if (net.place != 0) return std::nullopt;
        names.push_back(net.name);
    }
    return names;
}

bool has(const std::vector<std::string>& values, const std::string& value) {
    return std::ranges::find(values, value) != values.end();
}

/// Whether "0,2-7" has the number.
bool is_in_ranges(std::string_view ranges, unsigned number) {
    while (!ranges.empty()) {
        const std::string_view range = ranges.substr(0, ranges.find(','));
        ranges.remove_prefix(std::min(ranges.size(), range.size() + 1));
        const std::size_t dash = range.find('-');
        const auto first = base::parse_integer<unsigned>(range.substr(0, dash));
        const auto last =
            dash == std::string_view::npos ? first : base::parse_integer<unsigned>(range.substr(dash + 1));
        if (first && last && *first <= number && number <= *last) return true;
    }
    return false;
}

/// Values for PFs are "ens1f0", or "ens1f0#0,2-7" for some of its VFs.
bool is_of_pf(const Device& device, const std::vector<std::string>& values, const std::string& pf) {
    return std::ranges::any_of(values, [&](const std::string& value) {
        const std::size_t hash = value.find('#');
        return value.substr(0, hash) == pf &&
               (hash == std::string::npos ||
                (device.pci->pf && is_in_ranges(value.substr(hash + 1), device.pci->vf_number)));
    });
}

/// As the kernel calls it in /sys/class/net/NAME/type: an InfiniBand address has 20 bytes, an Ethernet one 6.
std::string link_type_of(const Device& device) {
    constexpr std::size_t kEthernet = sizeof "00:00:00:00:00:00" - 1;
    if (device.net.empty()) return {};
    return device.net.front().hardware_address.size() > kEthernet ? "infiniband" : "ether";
}

bool is_named(const std::optional<std::vector<std::string>>& names, const std::vector<std::string>& values) {
    return !names || std::ranges::any_of(*names, [&](const std::string& name) { return has(values, name); });
}

/// What PFs are called where the selector looks. nullopt if that is not known.
std::optional<std::vector<std::string>> pf_names(const Context& context, const Device& device, Trait trait) {
    const Device* pf = pf_of(context, device);
    if (trait == Trait::pf_address && pf != nullptr) return std::vector<std::string>{pf->pci->address.to_string()};
    return names_of(pf);
}

bool is_of_pfs(Trait trait) {
    return trait == Trait::pf_name || trait == Trait::pf_address;
}

/// For traits that are one text of a function. Empty if it has none.
std::string value_of(const Device& device, Trait trait) {
    switch (trait) {
    case Trait::vendor: return fmt::format("{:04x}", device.pci->vendor);
    case Trait::device_id: return fmt::format("{:04x}", device.pci->device);
    case Trait::driver: return device.pci->driver;
    case Trait::address: return device.pci->address.to_string();
    case Trait::rdma: return device.rdma.empty() ? "" : "true";
    case Trait::link_type: return link_type_of(device);
    case Trait::pf_name:
    case Trait::pf_address:
    case Trait::interface: break;
    }
    return {};
}

/// "ens1f0#0-7" for the VFs of a PF, and "ens1f1" for a PF.
std::vector<std::string> places_of(const Context& context, const std::vector<const Device*>& devices, Trait trait) {
    std::map<std::string, std::optional<std::pair<unsigned, unsigned>>> pfs;
    for (const Device* device : devices)
        for (const std::string& name : pf_names(context, *device, trait).value_or(std::vector<std::string>{})) {
            auto& vfs = pfs[name];
            if (!device->pci->pf) continue;
            const unsigned number = device->pci->vf_number;
            vfs = vfs ? std::pair(std::min(vfs->first, number), std::max(vfs->second, number))
                      : std::pair(number, number);
        }
    std::vector<std::string> places;
    places.reserve(pfs.size());
    for (const auto& [name, vfs] : pfs)
        places.push_back(!vfs                        ? name
                         : vfs->first == vfs->second ? fmt::format("{}#{}", name, vfs->first)
                                                     : fmt::format("{}#{}-{}", name, vfs->first, vfs->second));
    return places;
}

} // namespace

std::vector<Pool> list_pools(PluginKind kind, std::string_view text) {
    const json::Document document = json::Document::parse(text);
    std::vector<Pool> pools;
    const json::Reader list = document.root().at(kind == PluginKind::sriov ? "resourceList" : "configList");
    for (const json::Reader& entry : list.elements())
        if (is_of_functions(entry)) pools.push_back(pool_in(kind, entry));
    return pools;
}

std::vector<const Device*> list_candidates(PluginKind kind, const Context& context) {
    std::vector<const Device*> candidates;
    for (const Device& device : context.inventory.devices)
        if (device.pci && (kind == PluginKind::shared || device.pci->vfs == 0)) candidates.push_back(&device);
    return candidates;
}

bool matches(const Context& context, const Device& device, const Selector& selector) {
    if (selector.trait == Trait::interface) return is_named(names_of(&device), selector.values);
    if (!is_of_pfs(selector.trait)) return has(selector.values, value_of(device, selector.trait));
    const auto names = pf_names(context, device, selector.trait);
    return !names || std::ranges::any_of(
                         *names, [&](const std::string& name) { return is_of_pf(device, selector.values, name); });
}

std::vector<std::string> values_of(const Context& context, const std::vector<const Device*>& devices, Trait trait) {
    if (is_of_pfs(trait)) return places_of(context, devices, trait);
    std::set<std::string> values;
    for (const Device* device : devices)
        if (trait == Trait::interface)
            for (std::string& name : names_of(device).value_or(std::vector<std::string>{}))
                values.insert(std::move(name));
        else if (std::string value = value_of(*device, trait); !value.empty())
            values.insert(std::move(value));
    return {values.begin(), values.end()};
}

} // namespace rdmanet::doctor
