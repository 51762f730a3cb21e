// What a check reads, and where it puts what it finds.
#pragma once

#include <rdmanet/doctor/doctor.hpp>

#include <rdmanet/base/format.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::doctor {

class ApiServer;
class HostLinks;
class KernelLog;
class Kubelet;
class PortWatch;

struct Context {
    const inventory::Inventory& inventory;
    const attach::Node& node;
    std::string root;
    std::optional<std::size_t> pod; // number of its namespace
    std::string missing_pod;        // "NAMESPACE/NAME" of the pod that was asked for and has none here
    KernelLog& kernel_log;
    Kubelet& kubelet;
    ApiServer& api_server;
    HostLinks& host_links;
    const PortWatch& port_watch;

    /// A file of the host.
    [[nodiscard]] std::string path(std::string_view file) const { return fmt::format("{}{}", root, file); }
};

class Findings {
public:
    void begin(std::string_view check) { check_ = check; }

    void failure(const std::string& subject, const std::string& what, const std::string& fix) {
        add(Severity::failure, subject, what, fix);
    }
    void warning(const std::string& subject, const std::string& what, const std::string& fix) {
        add(Severity::warning, subject, what, fix);
    }
    void info(const std::string& subject, const std::string& what, const std::string& fix = {}) {
        add(Severity::info, subject, what, fix);
    }

    /// Whether an earlier check has found why the subject cannot work.
    [[nodiscard]] bool has_failed(const std::string& subject) const {
        return std::ranges::any_of(all_, [&](const Finding& finding) {
            return finding.severity == Severity::failure && finding.subject == subject;
        });
    }

    [[nodiscard]] const std::vector<Finding>& all() const { return all_; }
    [[nodiscard]] std::size_t count_of(std::string_view check) const {
        return static_cast<std::size_t>(
            std::ranges::count_if(all_, [&](const Finding& each) { return each.check == check; }));
    }

    /// Whether a check has found more than what is worth knowing.
    [[nodiscard]] bool has_warned(std::string_view check) const {
        return std::ranges::any_of(
            all_, [&](const Finding& each) { return each.check == check && each.severity != Severity::info; });
    }

private:
    void add(Severity severity, const std::string& subject, const std::string& what, const std::string& fix) {
        all_.push_back(
            {.check = std::string(check_), .subject = subject, .severity = severity, .what = what, .fix = fix});
    }

    std::string_view check_;
    std::vector<Finding> all_;
};

/// A check looks at one thing. It throws base::Error if that may not be looked at.
struct Check {
    CheckInfo info;
    void (*run)(const Context& context, Findings& found);
};

/// PCI's number of the vendor of ConnectX (PCI_VENDOR_ID_MELLANOX, linux/pci_ids.h).
inline constexpr std::uint16_t kNvidia = 0x15b3;

/// Name of a device for people: "0000:3b:00.0 (eth1)".
[[nodiscard]] std::string subject_of(const inventory::Device& device);

/// Whether pods can share the interface: it is on the host, with RDMA, and not a VF's.
[[nodiscard]] bool is_host_parent(const inventory::Device& device, const inventory::NetDevice& net);

} // namespace rdmanet::doctor
