#include <rdmanet/state/step.hpp>

#include <cstdint>

namespace rdmanet::state {
namespace {

constexpr const char* kCreateLink = "create-link";
constexpr const char* kDelegateIpam = "delegate-ipam";

unsigned parse_ifindex(const json::Reader& reader) {
    return static_cast<unsigned>(reader.integer(0, INT32_MAX));
}

void write(json::Writer& writer, const CreateLink& step) {
    writer.member("step", kCreateLink)
        .member("kind", step.kind)
        .member("mode", step.mode)
        .member("ifname", step.ifname)
        .member("parent", step.parent)
        .member("parentIfindex", step.parent_ifindex)
        .member("parentInPod", step.parent_in_pod)
        .member("mac", step.mac)
        .member("ifindex", step.ifindex);
}

void write(json::Writer& writer, const DelegateIpam& step) {
    writer.member("step", kDelegateIpam)
        .member("plugin", step.plugin)
        .member("config", step.config)
        .member("args", step.args)
        .member("path", step.path);
}

CreateLink parse_create_link(const json::Reader& reader) {
    return {.kind = reader.at("kind").string(),
            .mode = reader.at("mode").string(),
            .ifname = reader.at("ifname").string(),
            .parent = reader.at("parent").string(),
            .parent_ifindex = parse_ifindex(reader.at("parentIfindex")),
            .parent_in_pod = reader.at("parentInPod").boolean(),
            .mac = reader.at("mac").string(),
            .ifindex = parse_ifindex(reader.at("ifindex"))};
}

DelegateIpam parse_delegate_ipam(const json::Reader& reader) {
    return {.plugin = reader.at("plugin").string(),
            .config = reader.at("config").string(),
            .args = reader.at("args").string(),
            .path = reader.at("path").string()};
}

} // namespace

void write_step(json::Writer& writer, const Step& step) {
    writer.begin_object();
    std::visit([&](const auto& concrete) { write(writer, concrete); }, step);
    writer.end_object();
}

Step parse_step(const json::Reader& reader) {
    const json::Reader kind = reader.at("step");
    if (kind.string() == kCreateLink) return parse_create_link(reader);
    if (kind.string() == kDelegateIpam) return parse_delegate_ipam(reader);
    throw kind.unexpected("a known step");
}

} // namespace rdmanet::state
