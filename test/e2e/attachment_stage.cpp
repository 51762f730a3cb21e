#include "attachment_stage.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <exception>

namespace rdmanet::test {

CheckedNode::~CheckedNode() {
    if (std::uncaught_exceptions() == 0) CHECK(difference() == "");
}

std::string json_text(std::string single_quoted) {
    std::replace(single_quoted.begin(), single_quoted.end(), '\'', '"');
    return single_quoted;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
    return text;
}

std::string ipam(const std::string& range, const std::string& more) {
    return concat("'ipam':{'type':'rdmanet','cooldown':0,'range':'", range, '\'', more.empty() ? "" : ",", more, '}');
}

PluginCall call_for(const Pod& pod, const std::string& members, const std::string& version,
                    const std::string& network) {
    PluginCall call;
    call.netns = pod.path();
    call.config =
        json_text(concat("{'cniVersion':'", version, "','name':'", network, "','type':'rdmanet',", members, '}'));
    return call;
}

namespace {

PluginCall with_json(PluginCall call, const std::string& members) {
    call.config.pop_back();
    call.config += concat(',', members, '}');
    return call;
}

} // namespace

PluginCall with(PluginCall call, const std::string& members) {
    return with_json(std::move(call), json_text(members));
}

PluginCall of(PluginCall call, const std::string& container) {
    call.container = container;
    return call;
}

PluginCall after(PluginCall call, const std::string& result) {
    return with_json(std::move(call), concat("\"prevResult\":", result));
}

std::string add(const PluginCall& call) {
    const ProcessResult result = call.with_command("ADD").run();
    if (result.exit_status != 0)
        throw base::Error(concat("ADD was refused, exit status ", result.exit_status, ": ", result.out, result.err));
    return document_of(result).root().to_text();
}

std::string refusal(const PluginCall& call) {
    return error_of(call.with_command("ADD").run());
}

std::string outcome(const PluginCall& call, const std::string& command) {
    PluginCall made = call.with_command(command);
    if (command == "STATUS" || command == "GC") made.container = made.netns = made.ifname = "";
    const ProcessResult result = made.run();
    if (result.exit_status != 0) return error_of(result);
    return command == "ADD" ? "" : result.out;
}

std::string del(const PluginCall& call) {
    return outcome(call, "DEL");
}

std::string check(const PluginCall& call, const std::string& result) {
    return outcome(after(call, result), "CHECK");
}

std::string fix_in(const std::string& message) {
    const auto from = message.find('`');
    const auto to = message.find('`', from + 1);
    if (from == std::string::npos || to == std::string::npos) throw base::Error(concat("no fix in: ", message));
    return message.substr(from + 1, to - from - 1);
}

std::string check_between(const PluginCall& call, const std::string& result, const std::string& change,
                          const std::string& repair) {
    shell(change);
    const std::string seen = check(call, result);
    shell(repair);
    const std::string after_repair = check(call, result);
    if (!after_repair.empty()) throw base::Error(concat("CHECK after ", repair, ": ", after_repair));
    return seen;
}

std::string value(const std::string& json, const std::string& path) {
    const json::Document document = json::Document::parse(json);
    json::Reader at = document.root();
    for (std::size_t from = 0; from < path.size();) {
        const std::size_t dot = std::min(path.find('.', from), path.size());
        const std::string key = path.substr(from, dot - from);
        at = at.is_array() ? at.elements().at(std::stoul(key)) : at.at(key);
        from = dot + 1;
    }
    return at.is_string() ? at.string() : at.to_text();
}

std::string addresses(const std::string& result) {
    const json::Document document = json::Document::parse(result);
    std::string text;
    if (const auto ips = document.root().find("ips"))
        for (const json::Reader& ip : ips->elements())
            text += concat(text.empty() ? "" : " ", ip.at("address").string());
    return text;
}

std::string mac_of(const Pod& pod, const std::string& ifname) {
    const std::string text = pod.run(concat("cat /sys/class/net/", ifname, "/address"));
    return text.substr(0, text.find('\n'));
}

} // namespace rdmanet::test
