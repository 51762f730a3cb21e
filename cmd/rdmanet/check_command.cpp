#include "commands.hpp"
#include "output.hpp"

#include <rdmanet/attach/check_node.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>
#include <map>
#include <vector>

namespace rdmanet::cmd {
namespace {

using attach::Agreement;
using attach::CheckedAttachment;

std::ptrdiff_t count(const std::vector<CheckedAttachment>& checked, Agreement agreement) {
    return std::ranges::count_if(checked, [&](const CheckedAttachment& each) { return each.agreement == agreement; });
}

/// Each warning once, with the attachments that it is about.
std::string warnings_text(const std::vector<CheckedAttachment>& checked) {
    std::map<std::string, std::string> attachments;
    for (const CheckedAttachment& each : checked)
        if (!each.warning.empty()) attachments[each.warning] += fmt::format("  affects {}\n", each.name);
    std::string text;
    for (const auto& [warning, lines] : attachments) text += fmt::format("warning: {}\n{}", warning, lines);
    return text;
}

std::string to_text(const std::vector<CheckedAttachment>& checked) {
    std::string text = warnings_text(checked);
    for (const CheckedAttachment& each : checked)
        if (each.agreement != Agreement::same)
            text += fmt::format("{}: {}: {}\n", each.agreement, each.name, each.reason);
    return text + fmt::format("{}: {} unchanged since ADD, {} different, {} not checked\n",
                              base::counted(checked.size(), "attachment", "attachments"),
                              count(checked, Agreement::same), count(checked, Agreement::differs),
                              count(checked, Agreement::not_checked));
}

std::string to_json(const std::vector<CheckedAttachment>& checked) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object().key("attachments").begin_array();
    for (const CheckedAttachment& each : checked)
        writer.begin_object()
            .member("attachment", each.name)
            .member("verdict", to_string(each.agreement))
            .member("reason", each.reason)
            .member("warning", each.warning)
            .end_object();
    return fmt::format("{}\n", writer.end_array().end_object().to_text());
}

} // namespace

int check_node(const std::string& state_directory, bool json) {
    const attach::Node node(state_directory, base::Logger(base::LogLevel::warning));
    const std::vector<CheckedAttachment> checked = attach::check_node(node);
    print(json ? to_json(checked) : to_text(checked));
    return count(checked, Agreement::differs) == 0 ? 0 : 1;
}

} // namespace rdmanet::cmd
