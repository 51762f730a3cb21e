#include "commands.hpp"
#include "output.hpp"

#include <rdmanet/attach/forget.hpp>
#include <rdmanet/attach/node.hpp>
#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>

#include <cstddef>
#include <utility>

namespace rdmanet::cmd {
namespace {

using attach::Forgotten;

std::string to_json(const attach::Collected& collected) {
    json::Writer writer(json::Layout::indented);
    const auto write_list = [&](const char* key, const std::vector<std::string>& texts) {
        writer.key(key).begin_array();
        for (const std::string& text : texts) writer.value(text);
        writer.end_array();
    };
    writer.begin_object();
    write_list("removed", collected.removed);
    write_list("failed", collected.failed);
    write_list("noticed", collected.noticed);
    writer.key("kept").begin_array();
    for (const attach::Kept& kept : collected.kept)
        writer.begin_object()
            .member("attachment", kept.what)
            .member("pod", kept.pod == ipam::Liveness::alive ? "alive" : "unknown")
            .member("reason", kept.pod.liveness == ipam::Liveness::alive ? kept.pod.held_by : kept.pod.reason)
            .end_object();
    writer.end_array();
    return fmt::format("{}\n", writer.end_object().to_text());
}

std::string to_text(const attach::Collected& collected, bool dry_run) {
    std::string text;
    for (const std::string& what : collected.removed)
        text += dry_run ? fmt::format("would remove {}\n", what) : fmt::format("removed {}\n", what);
    for (const std::string& what : collected.failed) text += fmt::format("still held: {}\n", what);
    if (text.empty()) text = "nothing to remove: no record and no lease belongs to a dead pod\n";
    std::size_t alive = 0;
    bool any_unknown = false;
    for (const attach::Kept& kept : collected.kept)
        if (kept.pod != ipam::Liveness::alive) {
            any_unknown = true;
            text += fmt::format("kept {}, because {}\n", kept.what, kept.pod.reason);
        } else if (kept.pod.held_by.empty()) {
            ++alive;
        } else {
            text += fmt::format("kept {}: its network namespace no longer has a name, and is {}\n", kept.what,
                                kept.pod.held_by);
        }
    if (any_unknown) text += "if you know that one of these pods is gone: `rdmanet gc --forget CONTAINER INTERFACE`\n";
    if (alive != 0)
        text +=
            fmt::format("kept {}\n", base::counted(alive, "attachment of a living pod", "attachments of living pods"));
    for (const std::string& what : collected.noticed) text += fmt::format("left alone: {}\n", what);
    return text;
}

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

/// Prints what is given up, then gives it up.
void forget(const GcOptions& options) {
    const attach::Node node(options.state_directory, base::Logger(base::LogLevel::warning));
    attach::ForgetTarget target;
    if (options.forget.size() == 1)
        target.file = options.forget.front();
    else
        target = {.container_id = options.forget.at(0), .ifname = options.forget.at(1)};
    attach::forget(target, node, options.dry_run ? attach::DryRun::yes : attach::DryRun::no,
                   [&](const Forgotten& forgotten) {
                       print(options.json ? to_json(forgotten, options.dry_run) : to_text(forgotten, options.dry_run));
                   });
}

} // namespace

CLI::App* add_gc_command(CLI::App& app, GcOptions& options) {
    CLI::App* gc = app.add_subcommand("gc", "remove what dead pods left behind");
    add_common_options(*gc, options.state_directory, options.json);
    gc->footer("Example: rdmanet gc --dry-run");
    gc->add_flag("--dry-run", options.dry_run, "only print what would be removed");
    gc->add_option("--forget", options.forget,
                   "drop the record of one attachment, or an unreadable record by its file's name, and release its "
                   "addresses; prints what is not undone. Refused while the pod's network namespace exists")
        ->expected(1, 2)
        ->type_name("CONTAINER IFNAME | FILE");
    return gc;
}

int collect_garbage(const GcOptions& options) {
    if (!options.forget.empty()) {
        forget(options);
        return 0;
    }
    const attach::Node node(options.state_directory, base::Logger(base::LogLevel::warning));
    const auto collected = attach::collect_dead(node, options.dry_run ? attach::DryRun::yes : attach::DryRun::no);
    print(options.json ? to_json(collected) : to_text(collected, options.dry_run));
    return collected.failed.empty() ? 0 : 1;
}

} // namespace rdmanet::cmd
