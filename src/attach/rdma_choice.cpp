#include "rdma_choice.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <cctype>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;

/// IB_DEVICE_NAME_MAX, less the zero (include/uapi/rdma/rdma_netlink.h).
constexpr std::size_t kLongestRdmaName = 63;
constexpr std::int64_t kLastRdmaPlace = 63;

std::string shown(const RdmaChoice& choice) {
    const auto* place = std::get_if<std::size_t>(&choice);
    return place != nullptr ? concat(*place) : quoted(std::get<std::string>(choice));
}

bool is_meant(const RdmaChoice& choice, std::size_t place, const kernel::RdmaDevice& device) {
    const auto* pattern = std::get_if<std::string>(&choice);
    if (pattern == nullptr) return std::get<std::size_t>(choice) == place;
    return ::fnmatch(pattern->c_str(), device.name.c_str(), FNM_NOESCAPE) == 0;
}

/// "0 is "mlx5_2", 1 is "mlx5_3"".
std::string numbered(const RdmaDevices& devices) {
    std::string names;
    for (std::size_t place = 0; place < devices.size(); ++place)
        names += concat(place == 0 ? "" : ", ", place, " is ", quoted(devices[place].name));
    return names;
}

[[noreturn]] void refuse_choice(const DevicePlan& plan, const RdmaChoice& choice, const RdmaDevices& present) {
    const std::string names = numbered(present);
    throw cni::CniError(cni::ErrorCode::rdma, concat("rdma.device: ", shown(choice), " is no RDMA device of ",
                                                     plan.address, ", of whose RDMA devices ", names,
                                                     ": set it to one of these numbers, or to a pattern of names"));
}

} // namespace

std::optional<RdmaChoice> parse_rdma_choice(const json::Reader& rdma) {
    const auto device = rdma.find("device");
    if (!device) return std::nullopt;
    if (!device->is_string()) return RdmaChoice(static_cast<std::size_t>(device->integer(0, kLastRdmaPlace)));
    std::string pattern = device->string();
    if (pattern.empty() || pattern.size() > kLongestRdmaName || !base::is_printable_utf8(pattern))
        throw device->unexpected("a number from 0, or a name of an RDMA device, in which * and ? stand for anything");
    return RdmaChoice(std::move(pattern));
}

/// In sysfs it is the name of a directory, and in lists of several a comma parts them.
std::optional<std::string> parse_rdma_name(const json::Reader& rdma) {
    const auto reader = rdma.find("name");
    if (!reader) return std::nullopt;
    std::string name = reader->string();
    const bool is_plain = std::all_of(name.begin(), name.end(), [](unsigned char letter) {
        return std::isalnum(letter) != 0 || letter == '_' || letter == '-' || letter == '.';
    });
    if (name.empty() || name.size() > kLongestRdmaName || !is_plain || name.front() == '.')
        throw reader->unexpected("up to 63 letters, digits and \"_\", \"-\", \".\", the first no \".\"");
    return name;
}

void refuse_late_choice(const base::BusAddress& address, const RdmaPolicy& policy) {
    if (!policy.device && !policy.name) return;
    const std::string key =
        policy.device ? concat("rdma.device: ", shown(*policy.device)) : concat("rdma.name: ", quoted(*policy.name));
    throw cni::CniError(cni::ErrorCode::rdma,
                        concat(key, " comes too late, the RDMA devices of ", address,
                               " were moved by an entry of the list before this one: set it there"));
}

void choose_rdma(DevicePlan& plan, const RdmaPolicy& policy, RdmaDevices present) {
    // As the driver has made them: a name may become another by udev, a number can't.
    std::sort(present.begin(), present.end(),
              [](const auto& one, const auto& other) { return one.index < other.index; });
    plan.moving.clear();
    plan.staying.clear();
    for (std::size_t place = 0; place < present.size(); ++place) {
        const bool moves = !policy.device || is_meant(*policy.device, place, present[place]);
        (moves ? plan.moving : plan.staying).push_back(present[place]);
    }
    if (plan.moving.empty() && policy.device) refuse_choice(plan, *policy.device, present);
    plan.name_in_pod = policy.name.value_or("");
    if (policy.name && plan.moving.size() > 1)
        throw cni::CniError(cni::ErrorCode::rdma,
                            concat("rdma.name: ", quoted(*policy.name), " is one name for ", plan.moving.size(),
                                   " RDMA devices of ", plan.address, ", of which ", numbered(present),
                                   ": set \"rdma.device\", too"));
}

} // namespace rdmanet::attach
