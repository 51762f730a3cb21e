// The VFs of one PF: a node may have hundreds of them, and a fault that all have is one finding.
#pragma once

#include "context.hpp"

#include <rdmanet/base/text.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace rdmanet::doctor {

[[nodiscard]] inline bool has_vfs(const inventory::Device& device) {
    return device.pci && device.pci->vfs != 0;
}

/// Calls `visit` for each VF of the PF.
template <class Visit>
void for_each_vf(const Context& context, const inventory::Device& pf, const Visit& visit) {
    for (const inventory::Device& device : context.inventory.devices)
        if (device.pci && device.pci->pf == pf.pci->address) visit(device);
}

/// Those of them that have a fault, for messages.
class Vfs {
public:
    void add(const inventory::Device& device) {
        if (count_++ == 0) first_ = &device;
    }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] const inventory::Device& first() const { return *first_; }
    [[nodiscard]] std::string address() const { return first_->address->to_string(); }
    [[nodiscard]] std::string driver() const { return first_->pci->driver; }
    [[nodiscard]] std::string counted() const { return base::counted(count_, "VF", "VFs"); }
    /// "0000:3b:00.2", or "0000:3b:00.2, ...".
    [[nodiscard]] std::string examples() const { return fmt::format("{}{}", address(), count_ > 1 ? ", ..." : ""); }
    /// What follows a command for the first one.
    [[nodiscard]] std::string_view for_each() const { return count_ > 1 ? ", and so for each VF" : ""; }

private:
    std::size_t count_ = 0;
    const inventory::Device* first_ = nullptr;
};

} // namespace rdmanet::doctor
