#include <rdmanet/state/step.hpp>

#include <utility>

namespace rdmanet::state {
namespace {

/// Makes `step` the first kind of `Kinds` with that name. False if there is none.
template <class... Kinds>
bool become(std::string_view kind, std::variant<Kinds...>& step) {
    return ((kind == Kinds::kKind && (step = Kinds{}, true)) || ...);
}

} // namespace

void fields(Fields& f, Step& step) {
    if (json::Writer* const to = f.writer())
        std::visit([&](const auto& each) { to->member("step", each.kKind); }, step);
    else if (const json::Reader kind = f.reader()->at("step"); !become(kind.string(), step))
        throw kind.unexpected("a known step");
    std::visit([&](auto& each) { each.fields(f); }, step);
}

std::string to_text(const Step& step) {
    json::Writer writer;
    Step copy = step;
    Fields::write(writer, copy);
    return writer.to_text();
}

std::string held_device(const Step& step) {
    return std::visit(
        [](const auto& each) {
            if constexpr (requires { each.device; })
                return each.device;
            else if constexpr (requires { each.link; })
                return each.link.device;
            else if constexpr (requires { each.before; })
                return each.before.device;
            else
                return std::string();
        },
        step);
}

bool is_for_others(const Step& step) {
    return is_any_of<DelegateIpam, WriteDeviceInfo>(step);
}

void fields(Fields& f, base::VfSettings& settings) {
    f.optional("mac", settings.mac).optional("vlan", settings.vlan).optional("rates", settings.rates);
    f.optional("spoofchk", settings.spoof_check).optional("trust", settings.trust);
    f.optional("linkState", settings.link_state);
    f.optional("nodeGuid", settings.node_guid).optional("portGuid", settings.port_guid);
}

void fields(Fields& f, base::VfVlan& vlan) {
    f("id", vlan.id)("qos", vlan.qos)("protocol", vlan.protocol);
    if (f.reader() != nullptr && vlan.qos > 7) throw f.reader()->at("qos").unexpected("0 to 7");
}

void fields(Fields& f, base::VfRates& rates) {
    f("leastMbps", rates.least_mbps)("mostMbps", rates.most_mbps);
}

} // namespace rdmanet::state
