// The configuration's log file and level.

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/config/config.hpp>

namespace rdmanet::config {
namespace {

// The words of sriov-cni and of whereabouts ("verbose"), so that configurations written for them still work.
constexpr json::Choice<base::LogLevel> kLogLevels[] = {
    {"panic", base::LogLevel::error}, {"error", base::LogLevel::error},  {"warning", base::LogLevel::warning},
    {"info", base::LogLevel::info},   {"verbose", base::LogLevel::info}, {"debug", base::LogLevel::debug},
};

bool is_file_name(std::string_view text) {
    return !text.empty() && text.find('/') == std::string_view::npos && text != "." && text != "..";
}

bool is_our_log(std::string_view file) {
    constexpr std::string_view kDirectory = "rdmanet/";
    if (file.starts_with(kDirectory)) return is_file_name(file.substr(kDirectory.size()));
    return is_file_name(file) && (file == "rdmanet.log" || (file.starts_with("rdmanet-") && file.ends_with(".log")));
}

/// Network configurations may come from tenants of the cluster, and root opens the file. Other files below /var/log
/// belong to other programs, which may act on what a tenant writes there (wtmp, the journal, logs of other pods).
std::string parse_log_file(const json::Reader& reader) {
    const std::string path = reader.string();
    const std::string directory = fmt::format("{}/", kLogDirectory);
    std::string file = path.starts_with(directory) ? path.substr(directory.size()) : std::string();
    if (!is_our_log(file) || !base::is_printable_utf8(file))
        throw reader.unexpected("/var/log/rdmanet.log, /var/log/rdmanet-NAME.log or a file in /var/log/rdmanet/");
    return file;
}

} // namespace

LogTarget parse_log_target(const cni::NetConf& conf) {
    const json::Reader root = conf.document.root();
    LogTarget target;
    if (const auto file = root.find_filled("logFile")) target.file = parse_log_file(*file);
    if (target.file) target.level = base::LogLevel::info;
    if (const auto level = root.find_choice("logLevel", kLogLevels)) target.level = *level;
    return target;
}

} // namespace rdmanet::config
