#include "foreign_vf.hpp"

#include "device_link.hpp"
#include "vf_plan.hpp"

#include <rdmanet/base/text.hpp>

#include <set>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::concat;
using kernel::VfSettings;

void add_recorded(const state::AttachmentStore& records, std::set<std::string>& devices) {
    for (const state::AttachmentRecord& record : records.list().records) devices.insert(record.device());
}

/// Those of the settings that a VF without a pod has no use for. MAC, trust and spoof check are the driver's or the
/// administrator's taste, and some drivers tell the port's speed where no rate was set (qed, qed_sriov.c).
VfSettings of_a_pod(const VfSettings& settings) {
    VfSettings found;
    if (settings.vlan && (settings.vlan->id != 0 || settings.vlan->qos != 0)) found.vlan = settings.vlan;
    if (settings.link_state == kernel::VfLinkState::disable) found.link_state = settings.link_state;
    return found;
}

std::string text_of(const base::BusAddress& address, const kernel::VfId& id, const VfSettings& found) {
    return concat("device ", address, ", ", id, ", has ", kernel::to_string(found),
                  " and no pod: the next one gets that, as far as its network says nothing else. If nobody set it on "
                  "purpose, run `ip link set ",
                  id.pf, " vf ", id.number, found.vlan ? " vlan 0" : "", found.link_state ? " state auto`" : "`");
}

/// Empty where there is nothing to say of the VF.
std::string sentence_on(const base::PciAddress& vf, kernel::Socket& route) try {
    const base::BusAddress address(vf);
    const auto of = kernel::find_pf_of(vf);
    if (!of || !find_link_on_host(address, route)) return {};
    const auto id = find_vf_id(*of, route);
    const auto settings = id ? kernel::find_vf(route, *id) : std::nullopt;
    const VfSettings found = settings ? of_a_pod(*settings) : VfSettings{};
    return found.empty() ? std::string() : text_of(address, *id, found);
} catch (const base::Error& error) {
    return concat("device ", vf, ": its settings can't be read: ", error.what());
}

} // namespace

std::vector<std::string> describe_foreign_vfs(const state::AttachmentStore& records, const base::Deadline& deadline) {
    std::set<std::string> recorded;
    add_recorded(records, recorded);
    std::vector<std::pair<std::string, std::string>> texts; // device, sentence
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    for (const base::PciAddress& vf : kernel::list_vfs())
        if (std::string text = sentence_on(vf, route); !text.empty())
            texts.emplace_back(vf.to_string(), std::move(text));
    if (!texts.empty()) add_recorded(records, recorded); // by now an ADD may have written its record
    std::vector<std::string> foreign;
    for (auto& [device, text] : texts)
        if (!recorded.contains(device)) foreign.push_back(std::move(text));
    return foreign;
}

} // namespace rdmanet::attach
