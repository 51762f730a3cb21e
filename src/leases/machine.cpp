#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/leases/machine.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>

namespace rdmanet::leases {
namespace {

constexpr const char* kMachineId = "/etc/machine-id";

[[noreturn]] void refuse_machine(const std::string& why) {
    throw ipam::StoreError(ipam::StoreError::Kind::permanent, fmt::format("lease store: {}", why));
}

} // namespace

/// machine-id(5): 32 hexadecimal digits, or the word "uninitialized" on the first boot.
std::string read_machine_id() try {
    std::string text = base::read_file(kMachineId, 64);
    while (text.ends_with('\n')) text.pop_back();
    const bool is_id = text.size() == 32 && std::ranges::all_of(text, [](char c) {
                           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                       });
    if (!is_id)
        refuse_machine(fmt::format(
            "{} has no machine id, by which other nodes know this one: run `systemd-machine-id-setup`", kMachineId));
    return text;
} catch (const base::SystemError& error) {
    refuse_machine(fmt::format("{}: run `systemd-machine-id-setup`", error.what()));
}

std::string machine_id_or_none() try { return read_machine_id(); } catch (const ipam::StoreError&) {
    return {};
}

std::string node_name_or_host(const std::string& configured) {
    return configured.empty() ? base::to_lower(host_name()) : configured;
}

std::string host_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0')
        refuse_machine("this host has no name: set \"nodeName\"");
    return name.data();
}

} // namespace rdmanet::leases
