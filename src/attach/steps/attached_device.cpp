#include "attached_device.hpp"

#include "keep_device.hpp"
#include "move_interface.hpp"
#include "recorded.hpp"

#include <rdmanet/base/bus_address.hpp>

#include <algorithm>

namespace rdmanet::attach {

std::optional<Movable> find_attached(const config::HostDevice& wanted, const state::AttachmentStore& records) {
    const auto is_meant = [&](const LinkBefore& kept) {
        if (wanted.name)
            return kept.name == *wanted.name ||
                   std::count(kept.altnames.begin(), kept.altnames.end(), *wanted.name) != 0;
        return wanted.hwaddr && base::MacAddress::parse(kept.mac) == wanted.hwaddr;
    };
    for (const state::AttachmentRecord& record : records.list().records) {
        if (const auto kept = find_step<KeepDevice>(record); kept && is_meant(kept->before))
            if (const auto address = base::BusAddress::parse(kept->before.device)) return *address;
        if (const auto moved = find_step<MoveInterface>(record); moved && is_meant(moved->before))
            return moved->before.device;
    }
    return std::nullopt;
}

} // namespace rdmanet::attach
