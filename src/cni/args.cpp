#include <rdmanet/cni/args.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

namespace rdmanet::cni {
namespace {

using base::quoted;

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const auto end = text.find(separator);
        if (end != 0) parts.push_back(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    return parts;
}

[[noreturn]] void refuse_args(const std::string& name, const std::string& message) {
    throw CniError(ErrorCode::invalid_environment, fmt::format("{}: {}", name, message));
}

std::string* place_of(Args& args, std::string_view key) {
    if (key == "K8S_POD_NAMESPACE") return &args.pod_namespace;
    if (key == "K8S_POD_NAME") return &args.pod_name;
    if (key == "K8S_POD_UID") return &args.pod_uid;
    if (key == "MAC") return &args.mac;
    return nullptr;
}

/// True if the key was understood.
bool take(Args& args, std::string_view key, std::string_view value) {
    if (key == "IP") {
        for (const std::string_view ip : split(value, ',')) args.ips.emplace_back(ip);
        return true;
    }
    if (std::string* place = place_of(args, key)) {
        *place = value;
        return true;
    }
    return key == "K8S_POD_INFRA_CONTAINER_ID" || key == "GATEWAY";
}

bool parse_ignore_unknown(const std::string& name, std::string_view value, Strictness strictness) {
    const std::string flag = base::to_lower(value);
    if (flag == "1" || flag == "true") return true;
    if (flag == "0" || flag == "false" || strictness == Strictness::lenient) return false;
    refuse_args(name, fmt::format("IgnoreUnknown: expected 1, true, 0 or false, found {}", quoted(value)));
}

} // namespace

Args parse_args(std::string_view text, Strictness strictness, const std::string& name) {
    Args args{.name = name};
    bool ignore_unknown = false;
    std::vector<std::string> unknown;
    // The journal is JSON, which cannot hold other bytes: DEL would pass other arguments to a delegate than ADD did.
    if (strictness == Strictness::strict && !base::is_utf8(text))
        refuse_args(name, fmt::format("expected UTF-8, found {}", quoted(text)));
    for (const std::string_view part : split(text, ';')) {
        const auto equals = part.find('=');
        const bool is_pair = equals != std::string_view::npos && part.find('=', equals + 1) == std::string_view::npos;
        if (!is_pair && strictness == Strictness::strict)
            refuse_args(name, fmt::format("expected KEY=VALUE pairs separated by ';', found {}", quoted(part)));
        if (!is_pair) continue;
        const std::string_view key = part.substr(0, equals);
        const std::string_view value = part.substr(equals + 1);
        if (key == "IgnoreUnknown")
            ignore_unknown = parse_ignore_unknown(name, value, strictness);
        else if (!take(args, key, value))
            unknown.push_back(quoted(key));
    }
    if (!unknown.empty() && !ignore_unknown && strictness == Strictness::strict)
        refuse_args(name, fmt::format("unknown keys {}: remove them, or add IgnoreUnknown=1", base::join(unknown)));
    return args;
}

} // namespace rdmanet::cni
