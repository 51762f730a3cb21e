#include <rdmanet/cni/net_conf.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <algorithm>
#include <functional>

namespace rdmanet::cni {
namespace {

using json::Reader;

/// The error cannot name the network, because its name is in the text. Runtimes and Multus put it in front.
json::Document parse_document(std::string_view text) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
        throw json::ParseError("standard input is empty, expected a network configuration: a runtime or Multus writes "
                               "it there; to try one by hand, run `rdmanet plan FILE`");
    try {
        return json::Document::parse(text);
    } catch (const json::ParseError& error) {
        throw json::ParseError(
            fmt::format("the network configuration on standard input cannot be read: {}: a runtime or Multus writes it "
                        "there; to try one by hand, run `rdmanet plan FILE`",
                        error.what()));
    }
}

SpecVersion parse_spec_version(const Reader& root) {
    const auto member = root.find("cniVersion");
    const std::string text = member ? member->string() : std::string();
    const auto version = parse_version(text);
    if (!version)
        throw CniError(ErrorCode::incompatible_version,
                       fmt::format("incompatible CNI versions: cniVersion {} is not supported, use one of {}",
                                   base::quoted(text), supported_versions_text()));
    return *version;
}

std::string parse_name(const Reader& root) {
    const auto member = root.find("name");
    std::string name = member ? member->string() : std::string();
    if (name.empty())
        throw CniError(ErrorCode::invalid_network_config, "name: missing: give the network configuration a name");
    if (!is_identifier(name))
        throw CniError(ErrorCode::invalid_network_config,
                       fmt::format("name: expected {}, found {}", kIdentifierRules, base::quoted(name)));
    return name;
}

std::optional<std::string> parse_ipam_type(const Reader& root) {
    const auto ipam = root.find("ipam");
    if (!ipam) return std::nullopt;
    ipam->expect_object();
    const auto type = ipam->find("type");
    if (!type || type->string().empty()) return std::nullopt;
    return type->string();
}

/// rdmanet's interface follows those of the earlier plugins. An address with an index one too high would become its
/// address.
Result parse_prev_result(const Reader& reader, SpecVersion version) {
    Result result = parse_result(reader, version);
    for (std::size_t at = 0; at < result.ips.size(); ++at)
        if (result.ips[at].interface && *result.ips[at].interface >= result.interfaces.size())
            throw json::ValueError(fmt::format("{}.ips[{}].interface", reader.path(), at),
                                   fmt::format("expected the index of one of its {} interfaces, found {}",
                                               result.interfaces.size(), *result.ips[at].interface));
    return result;
}

std::vector<ValidAttachment> parse_attachments(const Reader& list) {
    std::vector<ValidAttachment> attachments;
    if (list.is_null()) return attachments;
    for (const Reader& element : list.elements())
        attachments.push_back(
            {.container_id = element.at("containerID").string(), .ifname = element.at("ifname").string()});
    return attachments;
}

/// The specification's key, and the key of its first version, which libcni also sets.
std::optional<std::vector<ValidAttachment>> parse_valid_attachments(const Reader& root) {
    for (const char* key : {"cni.dev/valid-attachments", "cni.dev/attachments"})
        if (const auto list = root.find_or_null(key)) return parse_attachments(*list);
    return std::nullopt;
}

/// Runs `read`. In a lenient reading a failure becomes a warning.
void read_part(NetConf& conf, Strictness strictness, const std::function<void()>& read) {
    try {
        read();
    } catch (const json::ValueError& error) {
        if (strictness == Strictness::strict) throw;
        conf.warnings.push_back(fmt::format("{}, ignored", error.what()));
    }
}

} // namespace

bool is_identifier(std::string_view text) {
    const auto is_alphanumeric = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    return !text.empty() && is_alphanumeric(text.front()) &&
           std::ranges::all_of(text, [&](char c) { return is_alphanumeric(c) || c == '_' || c == '.' || c == '-'; });
}

NetConf parse_net_conf(std::string_view text, Strictness strictness) {
    NetConf conf{.document = parse_document(text)};
    const Reader root = conf.document.root();
    base::in_context("network configuration", [&] { root.expect_object(); });
    conf.name = parse_name(root);
    conf.version = parse_spec_version(root);
    const auto part = [&](const std::function<void()>& read) { read_part(conf, strictness, read); };
    part([&] {
        if (const auto type = root.find("type")) conf.type = type->string();
    });
    part([&] { conf.ipam_type = parse_ipam_type(root); });
    part([&] {
        if (const auto dns = root.find("dns")) conf.dns = parse_dns(*dns);
    });
    part([&] {
        if (const auto result = root.find("prevResult")) conf.prev_result = parse_prev_result(*result, conf.version);
    });
    conf.valid_attachments = parse_valid_attachments(root); // an unreadable list counts as none: GC must not guess
    return conf;
}

std::string version_for_errors(std::string_view text) {
    try {
        const json::Document document = json::Document::parse(text);
        const auto member = document.root().find("cniVersion");
        if (member && parse_version(member->string())) return member->string();
    } catch (const base::Error&) { // the error that is being reported has the reason
    }
    return std::string(kNewestVersion);
}

} // namespace rdmanet::cni
