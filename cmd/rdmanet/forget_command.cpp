#include "forget_command.hpp"

#include "output.hpp"

#include <rdmanet/attach/forget.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/json/writer.hpp>

#include <utility>

namespace rdmanet::cmd {
namespace {

using attach::Forgotten;

std::string to_text(const Forgotten& forgotten, bool dry_run) {
    std::string text =
        dry_run ? fmt::format("would forget {}\n", forgotten.what) : fmt::format("forgets {}\n", forgotten.what);
    if (!forgotten.reason.empty()) text += fmt::format("  its pod may still be alive: {}\n", forgotten.reason);
    for (const std::string& address : forgotten.released) text += fmt::format("  released: {}\n", address);
    const bool tries_first = dry_run && forgotten.reason.empty();
    for (const std::string& step : forgotten.not_undone)
        text += tries_first ? fmt::format("  would be undone first, as `rdmanet gc` does: {}\n", step)
                            : fmt::format("  not undone: {}\n", step);
    if (forgotten.not_undone.empty()) text += "  nothing is left to undo\n";
    return text;
}

std::string to_json(const Forgotten& forgotten, bool dry_run) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object()
        .member("attachment", forgotten.what)
        .member("dryRun", dry_run)
        .member("reason", forgotten.reason);
    for (const auto& [key, texts] :
         {std::pair("released", &forgotten.released), {"notUndone", &forgotten.not_undone}}) {
        writer.key(key).begin_array();
        for (const std::string& text : *texts) writer.value(text);
        writer.end_array();
    }
    if (!forgotten.record.empty()) writer.key("record").raw(forgotten.record);
    return fmt::format("{}\n", writer.end_object().to_text());
}

} // namespace

int forget(const ForgetOptions& options) {
    const attach::Node node(options.state_directory, base::Logger(base::LogLevel::warning));
    attach::ForgetTarget target;
    if (options.target.size() == 1)
        target.file = options.target.front();
    else
        target = {.container_id = options.target.at(0), .ifname = options.target.at(1), .file = {}};
    attach::forget(target, node, options.dry_run ? attach::DryRun::yes : attach::DryRun::no,
                   [&](const Forgotten& forgotten) {
                       print(options.json ? to_json(forgotten, options.dry_run) : to_text(forgotten, options.dry_run));
                   });
    return 0;
}

} // namespace rdmanet::cmd
