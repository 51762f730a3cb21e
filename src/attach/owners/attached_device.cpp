#include "attached_device.hpp"

#include <rdmanet/base/bus_address.hpp>

#include <algorithm>

namespace rdmanet::attach {

std::optional<Movable> find_attached(const config::HostDevice& wanted, const state::AttachmentStore& records) {
    const auto is_meant = [&](const state::KeepDevice& kept) {
        if (wanted.name)
            return kept.name == *wanted.name ||
                   std::count(kept.altnames.begin(), kept.altnames.end(), *wanted.name) != 0;
        return wanted.hwaddr && base::MacAddress::parse(kept.mac) == wanted.hwaddr;
    };
    for (const state::AttachmentRecord& record : records.list().records) {
        if (const auto* kept = record.find_step<state::KeepDevice>(); kept != nullptr && is_meant(*kept))
            if (const auto address = base::BusAddress::parse(kept->device)) return *address;
        if (const auto* moved = record.find_step<state::MoveInterface>(); moved != nullptr && is_meant(moved->before))
            return moved->before.device;
    }
    return std::nullopt;
}

} // namespace rdmanet::attach
