#include "link_settings.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/ethtool.hpp>
#include <rdmanet/kernel/netdev_files.hpp>
#include <rdmanet/state/members.hpp>

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

/// A numeric setting that an interface keeps when it moves.
struct TuningNumber {
    std::string_view name; // in `ip link`
    std::string_view key;  // in the record
    std::optional<std::uint32_t> kernel::LinkTuning::*number;
};

/// In the order of restoring. gso_max_size and gro_max_size come before those for IPv4, because they also set the
/// latter if they are at most 64 KiB (netif_set_gso_max_size(), net/core/dev.h).
constexpr TuningNumber kTuningNumbers[] = {
    {"group", "group", &kernel::LinkTuning::group},
    {"txqueuelen", "txQueueLength", &kernel::LinkTuning::transmit_queue_length},
    {"gso_max_size", "gsoMaxSize", &kernel::LinkTuning::gso_max_size},
    {"gso_max_segs", "gsoMaxSegs", &kernel::LinkTuning::gso_max_segments},
    {"gro_max_size", "groMaxSize", &kernel::LinkTuning::gro_max_size},
    {"gso_ipv4_max_size", "gsoIpv4MaxSize", &kernel::LinkTuning::gso_ipv4_max_size},
    {"gro_ipv4_max_size", "groIpv4MaxSize", &kernel::LinkTuning::gro_ipv4_max_size}};

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

/// nullopt if the alias is not UTF-8: the record is JSON, which cannot hold other bytes.
std::optional<std::string> alias_of(const Link& link, const base::Logger& log) {
    if (base::is_utf8(link.alias)) return link.alias;
    warn_of_unrecorded(link, fmt::format("alias {}", quoted(link.alias)), "it is not UTF-8", log);
    return std::nullopt;
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

/// The settings that differ from before.
kernel::LinkChange changed_settings(const Link& link, const LinkBefore& before) {
    kernel::LinkChange change;
    // The address of an IPoIB interface is its port's GUID and cannot be set.
    if (const auto mac = base::MacAddress::parse(before.mac); mac && link.mac() != mac) change.mac = mac;
    if (link.mtu != before.mtu) change.mtu = before.mtu;
    if (link.is_promiscuous() != before.promiscuous) change.promiscuous = before.promiscuous;
    if (link.is_all_multicast() != before.all_multicast) change.all_multicast = before.all_multicast;
    // The kernel resets it to the default in each namespace (addrconf_notify(), net/ipv6/addrconf.c).
    if (link.ipv6_address_mode != before.ipv6_address_mode) change.ipv6_address_mode = before.ipv6_address_mode;
    return change;
}

void restore_settings(Socket& route, const Link& link, const LinkBefore& before) {
    const kernel::LinkChange change = changed_settings(link, before);
    // If an earlier DEL could set only that it is up, it has a link-local address of the pod's MAC, which goes with up.
    if (link.is_up() && (change.mac || change.ipv6_address_mode))
        kernel::change_link(route, link.ifindex, {.state = kernel::AdminState::down});
    if (change.mac || change.mtu || change.promiscuous || change.all_multicast || change.ipv6_address_mode)
        kernel::change_link(route, link.ifindex, change);
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

void restore_alias(Socket& route, const Link& link, const LinkBefore& before, const base::Logger& log) {
    if (!before.alias || link.alias == *before.alias) return;
    restore_optional(fmt::format("alias {}", quoted(*before.alias)), before, log,
                     [&] { kernel::change_link(route, link.ifindex, {.alias = before.alias}); });
}

/// One request for each setting: the kernel stops at the first setting that it refuses (do_setlink()).
void restore_tuning(Socket& route, Link link, const LinkBefore& before, const base::Logger& log) {
    for (const TuningNumber& tuning : kTuningNumbers) {
        const auto wanted = before.tuning.*tuning.number;
        if (!wanted || link.tuning.*tuning.number == wanted) continue;
        const std::string setting = fmt::format("{} {}", tuning.name, *wanted);
        kernel::LinkChange change;
        change.tuning.*tuning.number = wanted;
        const bool is_taken =
            restore_optional(setting, before, log, [&] { kernel::change_link(route, link.ifindex, change); });
        if (auto now = kernel::find_link(route, link.ifindex)) link = *std::move(now);
        if (is_taken && link.tuning.*tuning.number != wanted) warn_of_lack(setting, before, kNoError, log);
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
    if (!before.xdp_programs) return;
    const auto& kept = *before.xdp_programs;
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

void warn_of_unrestored(const Link& now, const LinkBefore& before, const base::Logger& log) {
    const kernel::LinkChange left = changed_settings(now, before);
    const auto say = [&](bool is_left, std::string_view setting) {
        if (is_left) warn_of_lack(setting, before, kNoError, log);
    };
    say(left.mac.has_value(), fmt::format("MAC {}", before.mac));
    say(left.mtu.has_value(), fmt::format("mtu {}", before.mtu));
    say(left.promiscuous.has_value(), "promiscuous mode");
    say(left.all_multicast.has_value(), "allmulticast mode");
    say(left.ipv6_address_mode.has_value(), "addrgenmode");
}

std::map<std::string, std::string> parse_files(const json::Reader& reader) {
    std::map<std::string, std::string> files;
    const auto found = reader.find("files");
    if (!found) return files;
    for (const json::Reader& file : found->elements()) {
        const json::Reader name = file.at("file");
        if (!files.empty() && name.string() <= files.rbegin()->first)
            throw name.unexpected("each file once, in the order of their names");
        files.emplace(name.string(), file.at("value").string());
    }
    return files;
}

} // namespace

LinkBefore LinkBefore::parse(const json::Reader& reader) {
    LinkBefore link{.device = reader.at("device").string(),
                    .name = reader.at("name").string(),
                    .mac = reader.at("mac").string(),
                    .mtu = static_cast<unsigned>(reader.at("mtu").integer(0, UINT32_MAX)),
                    .up = reader.at("up").boolean(),
                    .promiscuous = reader.at("promiscuous").boolean(),
                    .all_multicast = reader.at("allMulticast").boolean(),
                    .ipv6_address_mode = state::find_number<std::uint8_t>(reader, "ipv6AddressMode"),
                    .altnames = state::parse_texts(reader.at("altnames")),
                    .alias = state::find_string(reader, "alias"),
                    .tuning = {},
                    .files = parse_files(reader),
                    .wanted_features = state::find_numbers(reader, "wantedFeatures").value_or(kernel::FeatureSet{}),
                    .active_features = state::find_numbers(reader, "activeFeatures").value_or(kernel::FeatureSet{}),
                    .xdp_programs = state::find_numbers(reader, "xdpPrograms")};
    for (const TuningNumber& tuning : kTuningNumbers)
        link.tuning.*tuning.number = state::find_number<std::uint32_t>(reader, tuning.key);
    return link;
}

void LinkBefore::write(json::Writer& writer) const {
    writer.member("device", device)
        .member("name", name)
        .member("mac", mac)
        .member("mtu", mtu)
        .member("up", up)
        .member("promiscuous", promiscuous)
        .member("allMulticast", all_multicast);
    if (ipv6_address_mode) writer.member("ipv6AddressMode", std::uint32_t{*ipv6_address_mode});
    state::write_texts(writer, "altnames", altnames);
    state::write_if(writer, "alias", alias);
    for (const TuningNumber& number : kTuningNumbers) state::write_if(writer, number.key, tuning.*number.number);
    if (!wanted_features.empty()) state::write_numbers(writer, "wantedFeatures", wanted_features);
    if (!active_features.empty()) state::write_numbers(writer, "activeFeatures", active_features);
    if (xdp_programs) state::write_numbers(writer, "xdpPrograms", *xdp_programs);
    if (files.empty()) return;
    writer.key("files").begin_array();
    for (const auto& [file, value] : files)
        writer.begin_object().member("file", file).member("value", value).end_object();
    writer.end_array();
}

LinkBefore keep_link(const std::string& device, const Link& link, const base::Deadline& deadline,
                     const base::Logger& log) {
    kernel::Features features = features_of(link, deadline, log);
    return {.device = device,
            .name = link.name,
            .mac = link.mac() ? link.mac()->to_string() : std::string(),
            .mtu = link.mtu,
            .up = link.is_up(),
            .promiscuous = link.is_promiscuous(),
            .all_multicast = link.is_all_multicast(),
            .ipv6_address_mode = link.ipv6_address_mode,
            .altnames = link.altnames,
            .alias = alias_of(link, log),
            .tuning = link.tuning,
            .files = files_of(link, log),
            .wanted_features = std::move(features.wanted),
            .active_features = std::move(features.active),
            .xdp_programs = xdp_programs_of(link)};
}

void restore_link(Socket& route, const Link& link, const LinkBefore& before, const base::Logger& log) {
    remove_new_altnames(route, link, before); // one of them may be the name to restore
    restore_name(route, link, before, log);
    restore_altnames(route, link, before, log);
    restore_xdp(route, link, before, log); // before the MTU, which a program may forbid
    std::string refused;
    try {
        restore_settings(route, link, before);
    } catch (const base::SystemError& error) {
        refused = error.what();
    }
    restore_alias(route, link, before, log);
    restore_tuning(route, link, before, log);
    if (const auto now = kernel::find_link(route, link.ifindex)) {
        restore_files(*now, before, log); // by its new name
        restore_features(now->ifindex, before, route.deadline(), log);
        if (refused.empty()) warn_of_unrestored(*now, before, log);
        if (now->is_up() != before.up)
            kernel::change_link(route, now->ifindex,
                                {.state = before.up ? kernel::AdminState::up : kernel::AdminState::down});
    }
    if (!refused.empty()) throw base::Error(refused);
}

} // namespace rdmanet::attach
