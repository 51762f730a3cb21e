#include "rig.hpp"

#include "support/concat.hpp"

#include <rdmanet/attach/check_node.hpp>
#include <rdmanet/attach/preview.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/config/config.hpp>

#include <map>
#include <utility>

namespace rdmanet::attach::test {
namespace {

using kernel::fake::Function;
using kernel::fake::Machine;
using rdmanet::test::concat;

Function vf_of(const char* pf, unsigned number, const char* netdev, const char* mac) {
    return {.netdev = netdev,
            .mac = mac,
            .vf_of = kernel::VfOf{.pf = base::PciAddress::parse(pf).value(), .number = number}};
}

void fill(Machine& machine) {
    const kernel::VfSettings unset{.mac = base::MacAddress::parse("00:00:00:00:00:00"),
                                   .vlan = kernel::VfVlan{},
                                   .rates = kernel::VfRates{},
                                   .spoof_check = true,
                                   .trust = false,
                                   .link_state = kernel::VfLinkState::automatic};
    machine.add_function("0000:3b:00.0", {.netdev = "eth0", .mac = "02:00:00:00:3b:00"}).vfs = {{0, unset}, {1, unset}};
    machine.add_function("0000:3b:00.2", vf_of("0000:3b:00.0", 0, "eth0v0", "02:00:00:00:3b:02"));
    machine.add_function("0000:3b:00.3", vf_of("0000:3b:00.0", 1, "eth0v1", "02:00:00:00:3b:03"));
    machine.add_function("0000:5e:00.0", {.netdev = "ib0", .is_infiniband = true}).vfs = {
        {0,
         {.link_state = kernel::VfLinkState::automatic,
          .node_guid = base::Guid(0x200000000005e00),
          .port_guid = base::Guid(0x200000000005e01)}}};
    Function infiniband = vf_of("0000:5e:00.0", 0, "ib0v0", "");
    infiniband.is_infiniband = true;
    machine.add_function("0000:5e:00.1", std::move(infiniband));
    machine.add_function("0000:81:00.0", {.netdev = "eth7", .mac = "02:00:00:00:81:00"});
    for (const char* up : {"eth0", "ib0", "eth7"}) machine.netdev(up).link.flags |= kernel::fake::kUp;
}

template <class Act>
std::string error_of(const Act& act) {
    try {
        act();
    } catch (const cni::CniError& error) {
        return concat("code ", error.code(), ": ", error.what());
    } catch (const base::Error& error) {
        return error.what();
    }
    return {};
}

} // namespace

Rig::Rig(std::string its_members) : members(std::move(its_members)) {
    machine = Machine();
    fill(machine);
    pod = machine.add_netns(kPodPath);
    machine.changes.clear();
}

Node Rig::node() {
    Node node(directory, base::Logger::to_list(log, base::LogLevel::warning));
    node.view = {.pid_namespace = 0xEFFFFFFC, .began = 0}; // the initial one
    return node;
}

cni::Request Rig::request(cni::Command command) {
    const std::map<std::string, std::string> environment{{"CNI_CONTAINERID", container},
                                                         {"CNI_IFNAME", "net1"},
                                                         {"CNI_PATH", plugins},
                                                         {"CNI_NETNS", netns},
                                                         {"CNI_ARGS", args}};
    const auto find = [&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() || found->second.empty() ? nullptr : found->second.c_str();
    };
    std::string text =
        concat(R"({"cniVersion": "1.1.0", "name": ")", network, R"(", "type": ")", type, R"(", )", members);
    const bool has_result = result && command != cni::Command::add && command != cni::Command::gc;
    const std::string prev = has_result ? cni::format_result(*result, cni::SpecVersion::v1_1_0) : prev_result;
    if (!prev.empty()) text += concat(R"(, "prevResult": )", prev);
    if (command == cni::Command::gc && wanted_by_runtime)
        text += concat(R"(, "cni.dev/valid-attachments": [)", *wanted_by_runtime, "]");
    return cni::parse_request(command, find, text + "}");
}

std::string Rig::add() {
    return error_of([&] {
        const cni::Request request = this->request(cni::Command::add);
        result = is_ipam() ? ipam_only::add(request, node())
                           : attach::add(request, config::parse_config(request.conf), node());
    });
}

std::string Rig::del() {
    return error_of([&] { attach::del(request(cni::Command::del), node()); });
}

std::string Rig::check() {
    return error_of([&] {
        const cni::Request request = this->request(cni::Command::check);
        if (is_ipam()) return ipam_only::check(request, node());
        attach::check(request, config::parse_config(request.conf), node());
    });
}

std::string Rig::status() {
    return error_of([&] {
        const cni::Request request = this->request(cni::Command::status);
        if (is_ipam()) return ipam_only::status(request, node());
        attach::status(request, config::parse_config(request.conf), node());
    });
}

std::string Rig::gc() {
    return error_of([&] {
        const cni::Request request = this->request(cni::Command::gc);
        is_ipam() ? ipam_only::collect_garbage(request, node()) : attach::collect_garbage(request, node());
    });
}

std::string Rig::gc_of_node() {
    std::string failures;
    for (const std::string& failed : collect_dead(node(), DryRun::no).failed) failures += failed + "\n";
    return failures;
}

Preview Rig::preview() {
    const cni::Request request = this->request(cni::Command::add);
    return preview_add(request, config::parse_config(request.conf), node());
}

std::string Rig::refusal_of_plan() {
    return error_of([&] { (void)preview(); });
}

std::string Rig::take_log() {
    std::string text;
    for (const std::string& line : std::exchange(log, {})) text += line + "\n";
    return text;
}

std::string Rig::check_of_node() {
    std::string text;
    for (const CheckedAttachment& each : check_node(node()))
        text += concat(to_string(each.agreement), each.reason.empty() ? "" : ": ", each.reason,
                       each.warning.empty() ? "" : "; ", each.warning);
    return text;
}

std::vector<state::AttachmentRecord> Rig::records() {
    return node().records().list().records;
}

std::vector<std::string> Rig::take_changes() {
    return std::exchange(machine.changes, {});
}

} // namespace rdmanet::attach::test
