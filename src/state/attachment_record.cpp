#include <rdmanet/state/attachment_record.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/state/topic.hpp>

#include <algorithm>
#include <map>
#include <tuple>

namespace rdmanet::state {

std::string_view to_string(Phase phase) {
    return phase == Phase::prepared ? "prepared" : "attached";
}

const Child* AttachmentRecord::child() const {
    const auto* link = find_step<CreateLink>();
    return link == nullptr ? nullptr : &link->child;
}

std::string AttachmentRecord::device() const {
    for (const Step& step : steps)
        if (std::string device = held_device(step); !device.empty()) return device;
    return {};
}

std::vector<base::IpPrefix> AttachmentRecord::prefixes() const {
    std::vector<base::IpPrefix> prefixes;
    for (const std::string& ip : ips)
        if (const auto prefix = base::IpPrefix::parse(ip)) prefixes.push_back(*prefix);
    return prefixes;
}

std::vector<base::IpAddress> AttachmentRecord::addresses() const {
    std::vector<base::IpAddress> addresses;
    for (const base::IpPrefix& prefix : prefixes()) addresses.push_back(prefix.address());
    return addresses;
}

std::vector<std::string> AttachmentRecord::topics() const {
    std::vector<std::string> topics;
    if (const std::string moved = device(); !moved.empty()) topics.push_back(device_topic(moved));
    for (const Step& step : steps) {
        if (const auto* link = std::get_if<CreateLink>(&step); link != nullptr && !link->child.parent_in_pod) {
            topics.push_back(parent_topic(link->child.parent_ifindex));
            topics.push_back(child_topic(link->child.parent_ifindex, link->child.kind, link->child.mode));
        }
        if (const auto* info = std::get_if<WriteDeviceInfo>(&step)) // only its name: Multus may see another directory
            topics.push_back(device_info_topic(info->path.substr(info->path.rfind('/') + 1)));
    }
    if (owes_addresses()) topics.emplace_back(kOwedAddressesTopic);
    return topics;
}

std::string AttachmentRecord::to_text() const {
    json::Writer writer(json::Layout::indented);
    writer.begin_object().member("version", kVersion);
    Fields to(writer);
    AttachmentRecord(*this).fields(to);
    return writer.end_object().to_text();
}

AttachmentRecord AttachmentRecord::parse(std::string_view text) {
    const json::Document document = json::Document::parse(text);
    const json::Reader root = document.root();
    (void)root.at("version").integer(1, kVersion);
    AttachmentRecord record;
    Fields from(root);
    record.fields(from);
    return record;
}

std::string describe(const AttachmentRecord& record) {
    std::string text = record.key.to_string();
    if (!record.pod.name.empty())
        text += fmt::format(", pod {}", base::quoted(base::scoped_name(record.pod.pod_namespace, record.pod.name)));
    for (const std::string& ip : record.ips) text += fmt::format(", {}", ip);
    return text;
}

void sort_youngest_first(std::vector<AttachmentRecord>& records, std::string_view present_boot) {
    std::map<std::string, std::int64_t, std::less<>> latest; // of each boot
    for (const AttachmentRecord& record : records) {
        const auto [boot, is_new] = latest.try_emplace(record.boot_id, record.created);
        if (!is_new) boot->second = std::max(boot->second, record.created);
    }
    // Sort by boot first. Comparing records of different boots in pairs would use different clocks, and the order
    // would not be transitive.
    const auto rank = [&](const AttachmentRecord& record) {
        return std::tuple(record.boot_id == present_boot, latest.at(record.boot_id), std::string_view(record.boot_id),
                          record.created_since_boot, record.created);
    };
    std::stable_sort(records.begin(), records.end(),
                     [&](const auto& one, const auto& other) { return rank(one) > rank(other); });
}

} // namespace rdmanet::state
