#include "link_settings.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/ethtool.hpp>
#include <rdmanet/kernel/netdev_files.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

using base::quoted;
using kernel::Link;
using kernel::Socket;

/// A setting that an interface keeps when it moves. Its value is text, as the record has it.
struct Setting {
    const char* key;  // in the record
    const char* name; // in `ip link`
    /// Whether DEL fails if the kernel refuses it. The host can do without the others, and a driver that refuses one
    /// would refuse it for ever, so DEL only warns.
    bool is_required;
    std::optional<std::string> (*read)(const Link& link); // nullopt: cannot be recorded
    void (*set)(kernel::LinkChange& change, const std::string& value);
};

template <class Number>
std::optional<std::string> text_of(const std::optional<Number>& number) {
    return number ? std::optional(std::to_string(*number)) : std::nullopt;
}

std::string text_of(bool flag) {
    return flag ? "on" : "off";
}

template <std::optional<std::uint32_t> kernel::LinkTuning::*kNumber>
constexpr Setting tuning(const char* key, const char* name) {
    return {key, name, false, [](const Link& link) { return text_of(link.tuning.*kNumber); },
            [](kernel::LinkChange& change, const std::string& value) {
                change.tuning.*kNumber = base::parse_integer<std::uint32_t>(value);
            }};
}

/// The address of an IPoIB interface is its port's GUID and cannot be set.
std::optional<std::string> mac_of(const Link& link) {
    return link.mac() ? std::optional(link.mac()->to_string()) : std::nullopt;
}

/// In the order of restoring.
constexpr Setting kSettings[] = {
    {"mac", "MAC", true, mac_of,
     [](kernel::LinkChange& change, const std::string& value) { change.mac = base::MacAddress::parse(value); }},
    {"mtu", "mtu", true, [](const Link& link) { return text_of(std::optional(link.mtu)); },
     [](kernel::LinkChange& change, const std::string& value) { change.mtu = base::parse_integer<unsigned>(value); }},
    {"promiscuous", "promisc", true, [](const Link& link) { return std::optional(text_of(link.is_promiscuous())); },
     [](kernel::LinkChange& change, const std::string& value) { change.promiscuous = value == "on"; }},
    {"allMulticast", "allmulticast", true,
     [](const Link& link) { return std::optional(text_of(link.is_all_multicast())); },
     [](kernel::LinkChange& change, const std::string& value) { change.all_multicast = value == "on"; }},
    // The kernel resets it to the default in each namespace (addrconf_notify(), net/ipv6/addrconf.c).
    {"ipv6AddressMode", "addrgenmode", true, [](const Link& link) { return text_of(link.ipv6_address_mode); },
     [](kernel::LinkChange& change, const std::string& value) {
         change.ipv6_address_mode = base::parse_integer<std::uint8_t>(value);
     }},
    {"alias", "alias", false,
     [](const Link& link) { return base::is_utf8(link.alias) ? std::optional(link.alias) : std::nullopt; },
     [](kernel::LinkChange& change, const std::string& value) { change.alias = value; }},
    tuning<&kernel::LinkTuning::group>("group", "group"),
    tuning<&kernel::LinkTuning::transmit_queue_length>("txQueueLength", "txqueuelen"),
    // These come before those for IPv4, because they also set the latter if they are at most 64 KiB
    // (netif_set_gso_max_size(), net/core/dev.h).
    tuning<&kernel::LinkTuning::gso_max_size>("gsoMaxSize", "gso_max_size"),
    tuning<&kernel::LinkTuning::gso_max_segments>("gsoMaxSegs", "gso_max_segs"),
    tuning<&kernel::LinkTuning::gro_max_size>("groMaxSize", "gro_max_size"),
    tuning<&kernel::LinkTuning::gso_ipv4_max_size>("gsoIpv4MaxSize", "gso_ipv4_max_size"),
    tuning<&kernel::LinkTuning::gro_ipv4_max_size>("groIpv4MaxSize", "gro_ipv4_max_size"),
};

/// Only a warning: the pod can use the device although DEL cannot restore this setting.
void warn_of_unrecorded(const Link& link, std::string_view setting, std::string_view why, const base::Logger& log) {
    log.warn(fmt::format("interface {}: {} cannot be recorded ({}), so DEL will not restore it", quoted(link.name),
                         setting, why));
}

kernel::NetdevFiles files_of(const Link& link, const base::Logger& log) {
    const auto name = base::InterfaceName::parse(link.name);
    if (!name) return {};
    const kernel::NetdevFilesRead found = kernel::read_netdev_files(*name);
    for (const auto& [file, why] : found.unreadable) warn_of_unrecorded(link, file, why, log);
    return kernel::without_repetitions(found.files);
}

kernel::Features features_of(const Link& link, const base::Deadline& deadline, const base::Logger& log) try {
    auto ethtool = kernel::Ethtool::find(deadline);
    const auto found = ethtool ? ethtool->find_features(link.ifindex) : std::nullopt;
    return found.value_or(kernel::Features{});
} catch (const base::SystemError& error) {
    warn_of_unrecorded(link, "features", error.what(), log);
    return {};
}

bool has_altname(const std::vector<std::string>& altnames, const std::string& altname) {
    return std::find(altnames.begin(), altnames.end(), altname) != altnames.end();
}

void remove_new_altnames(Socket& route, const Link& link, const LinkBefore& before) {
    for (const std::string& altname : link.altnames)
        if (!has_altname(before.altnames, altname)) kernel::remove_altname(route, link.ifindex, altname);
}

void restore_altnames(Socket& route, const Link& link, const LinkBefore& before, const base::Logger& log) {
    for (const std::string& altname : before.altnames) {
        if (has_altname(link.altnames, altname)) continue;
        try {
            kernel::add_altname(route, link.ifindex, altname);
        } catch (const kernel::NetlinkError& error) {
            if (error.errno_value() != EEXIST) throw;
            log.warn(
                fmt::format("device {} does not get its alternative name {} back, because another interface has it",
                            before.device, quoted(altname)));
        }
    }
}

/// Only warns if another interface has taken the name: DEL cannot change that, and must not fail for ever.
void restore_name(Socket& route, const Link& link, const LinkBefore& before, const base::Logger& log) {
    const auto name = base::InterfaceName::parse(before.name);
    if (!name || link.name == before.name) return;
    try {
        kernel::change_link(route, link.ifindex, {.name = name, .state = kernel::AdminState::down});
    } catch (const kernel::NetlinkError& error) {
        if (error.errno_value() != EEXIST) throw;
        log.warn(fmt::format("device {} stays {}, because another interface now has its name {}: rename one of them",
                             before.device, quoted(link.name), quoted(before.name)));
    }
}

void warn_of_lack(std::string_view setting, const LinkBefore& before, std::string_view why, const base::Logger& log) {
    log.warn(fmt::format("device {} does not get its {} back: {}", before.device, setting, why));
}

constexpr std::string_view kNoError = "the kernel reported no error, but has not changed it";

/// Restores a setting that the host can do without. If the driver refuses it, this only warns, because the driver
/// would refuse it for ever. Returns false if it was refused.
template <class Act>
bool restore_optional(std::string_view setting, const LinkBefore& before, const base::Logger& log, Act&& act) {
    try {
        act();
        return true;
    } catch (const base::SystemError& error) {
        warn_of_lack(setting, before, error.what(), log);
        return false;
    }
}

bool is_lost(const Setting& setting, const Link& link, const LinkBefore& before) {
    const auto wanted = before.settings.find(setting.key);
    return wanted != before.settings.end() && setting.read(link) != wanted->second;
}

std::string text_of(const Setting& setting, const LinkBefore& before) {
    return fmt::format("{} {}", setting.name, base::shell_word(before.setting(setting.key)));
}

void restore_required(Socket& route, const Link& link, const LinkBefore& before) {
    kernel::LinkChange change;
    bool is_needed = false;
    for (const Setting& setting : kSettings) {
        if (!setting.is_required || !is_lost(setting, link, before)) continue;
        setting.set(change, before.setting(setting.key));
        is_needed = true;
    }
    // If an earlier DEL could set only that it is up, it has a link-local address of the pod's MAC, which goes with up.
    if (link.is_up() && (change.mac || change.ipv6_address_mode))
        kernel::change_link(route, link.ifindex, {.state = kernel::AdminState::down});
    if (is_needed) kernel::change_link(route, link.ifindex, change);
}

/// One request for each setting: the kernel stops at the first setting that it refuses (do_setlink()).
void restore_others(Socket& route, Link link, const LinkBefore& before, const base::Logger& log) {
    for (const Setting& setting : kSettings) {
        if (setting.is_required || !is_lost(setting, link, before)) continue;
        kernel::LinkChange change;
        setting.set(change, before.setting(setting.key));
        const bool is_taken = restore_optional(text_of(setting, before), before, log,
                                               [&] { kernel::change_link(route, link.ifindex, change); });
        if (auto now = kernel::find_link(route, link.ifindex)) link = *std::move(now);
        if (is_taken && is_lost(setting, link, before)) warn_of_lack(text_of(setting, before), before, kNoError, log);
    }
}

/// The files whose values differ from before. Files that are not recorded or no longer exist are left out.
kernel::NetdevFiles changed_files(const kernel::NetdevFiles& now, const LinkBefore& before) {
    kernel::NetdevFiles changed;
    for (const auto& [file, value] : now)
        if (std::string wanted = kernel::find_value(before.files, file); !wanted.empty() && wanted != value)
            changed.emplace(file, std::move(wanted));
    return changed;
}

void restore_files(const Link& link, const LinkBefore& before, const base::Logger& log) {
    const auto name = before.files.empty() ? std::nullopt : base::InterfaceName::parse(link.name);
    if (!name) return;
    restore_optional("settings in sysfs", before, log, [&] {
        const kernel::NetdevFilesRead now = kernel::read_netdev_files(*name);
        for (const auto& [file, why] : now.unreadable)
            if (!kernel::find_value(before.files, file).empty()) warn_of_lack(file, before, why, log);
        kernel::NetdevFiles changed = changed_files(now.files, before);
        std::erase_if(changed, [&](const auto& each) {
            return !restore_optional(each.first, before, log,
                                     [&] { kernel::write_netdev_file(*name, each.first, each.second); });
        });
        if (changed.empty()) return;
        for (const auto& [file, wanted] : changed_files(kernel::read_netdev_files(*name).files, before))
            if (changed.contains(file)) warn_of_lack(fmt::format("{} {}", file, wanted), before, kNoError, log);
    });
}

void restore_features(unsigned ifindex, const LinkBefore& before, const base::Deadline& deadline,
                      const base::Logger& log) {
    if (before.wanted_features.empty()) return;
    restore_optional("features", before, log, [&] {
        auto ethtool = kernel::Ethtool::find(deadline);
        const auto now = ethtool ? ethtool->find_features(ifindex) : std::nullopt;
        if (!now) return;
        const kernel::FeatureSet changed = kernel::difference(before.wanted_features, now->wanted, now->changeable);
        if (changed.empty()) return;
        const auto say = [&](const kernel::FeatureSet& left, std::string_view why) {
            warn_of_lack(fmt::format("features ({})", ethtool->names_of(ifindex, left)), before, why, log);
        };
        try {
            ethtool->want_features(ifindex, before.wanted_features, changed);
        } catch (const kernel::NetlinkError& error) {
            say(changed, error.what());
            return;
        }
        // Some wanted features may have been off before, because others were missing: the driver decides
        // (ndo_fix_features()).
        const auto made = ethtool->find_features(ifindex);
        const auto left =
            kernel::difference(before.active_features, made ? made->active : kernel::FeatureSet{}, changed);
        if (!left.empty()) say(left, fmt::format("{}: `dmesg` may say why", kNoError));
    });
}

bool has_xdp(const Link& link, std::uint32_t id) {
    return std::any_of(link.xdp.begin(), link.xdp.end(), [&](const auto& program) { return program.id == id; });
}

/// Detaches the pod's programs, which would still see and drop what the next pod receives.
void restore_xdp(Socket& route, const Link& link, const LinkBefore& before, const base::Logger& log) {
    const auto& kept = before.xdp_programs;
    for (const kernel::XdpProgram& program : link.xdp) {
        if (std::find(kept.begin(), kept.end(), program.id) != kept.end()) continue;
        try {
            kernel::detach_xdp(route, link.ifindex, program);
        } catch (const kernel::NetlinkError& error) {
            log.warn(
                fmt::format("device {} keeps the pod's XDP program {}: {}", before.device, program.id, error.what()));
        }
    }
    for (const std::uint32_t id : kept)
        if (!has_xdp(link, id))
            warn_of_lack(fmt::format("XDP program {}", id), before, "the pod detached it: attach it again", log);
}

std::vector<std::uint32_t> xdp_programs_of(const Link& link) {
    std::vector<std::uint32_t> ids;
    for (const kernel::XdpProgram& program : link.xdp) ids.push_back(program.id);
    return ids;
}

} // namespace

LinkBefore keep_link(const std::string& device, const Link& link, const base::Deadline& deadline,
                     const base::Logger& log) {
    kernel::Features features = features_of(link, deadline, log);
    LinkBefore before{.device = device,
                      .name = link.name,
                      .up = link.is_up(),
                      .altnames = link.altnames,
                      .settings = {},
                      .files = files_of(link, log),
                      .wanted_features = std::move(features.wanted),
                      .active_features = std::move(features.active),
                      .xdp_programs = xdp_programs_of(link)};
    for (const Setting& setting : kSettings)
        if (auto value = setting.read(link)) before.settings.emplace(setting.key, *std::move(value));
    if (!base::is_utf8(link.alias)) // the record is JSON, which cannot hold other bytes
        warn_of_unrecorded(link, fmt::format("alias {}", quoted(link.alias)), "it is not UTF-8", log);
    return before;
}

void restore_link(Socket& route, const Link& link, const LinkBefore& before, const base::Logger& log) {
    remove_new_altnames(route, link, before); // one of them may be the name to restore
    restore_name(route, link, before, log);
    restore_altnames(route, link, before, log);
    restore_xdp(route, link, before, log); // before the MTU, which a program may forbid
    std::string refused;
    try {
        restore_required(route, link, before);
    } catch (const base::SystemError& error) {
        refused = error.what();
    }
    restore_others(route, link, before, log);
    if (const auto now = kernel::find_link(route, link.ifindex)) {
        restore_files(*now, before, log); // by its new name
        restore_features(now->ifindex, before, route.deadline(), log);
        for (const Setting& setting : kSettings)
            if (setting.is_required && refused.empty() && is_lost(setting, *now, before))
                warn_of_lack(text_of(setting, before), before, kNoError, log);
        if (now->is_up() != before.up)
            kernel::change_link(route, now->ifindex,
                                {.state = before.up ? kernel::AdminState::up : kernel::AdminState::down});
    }
    if (!refused.empty()) throw base::Error(refused);
}

} // namespace rdmanet::attach
