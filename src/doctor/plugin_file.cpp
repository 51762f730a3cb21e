// The plugin's own file, where container runtimes look for it.
#include "checks.hpp"
#include "files.hpp"
#include "runtime_files.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/text.hpp>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <iterator>
#include <string_view>
#include <utility>

namespace rdmanet::doctor {
namespace {

/// Where runtimes look if they are not told: the CNI default, Debian's, Fedora's, k3s' and OpenShift's.
constexpr std::string_view kUsualDirectories[] = {"/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni",
                                                  "/var/lib/rancher/k3s/data/cni", "/var/lib/cni/bin"};

/// The directories that a runtime's configuration names, and the file that does.
struct Told {
    std::string file;
    std::vector<std::string> directories;
};

/// containerd has "bin_dir", and "bin_dirs" since its version 2.1, which comes first; CRI-O has "plugin_dirs".
std::optional<Told> told_directories(const Context& context) {
    std::optional<Told> told;
    for (const RuntimeFile& file : list_runtime_files(context))
        for (const std::string_view key : {"bin_dirs", "bin_dir", "plugin_dirs"}) {
            auto directories = texts_behind(file.text, key);
            std::erase_if(directories, [](const std::string& path) { return !path.starts_with('/'); });
            if (directories.empty()) continue;
            told = Told{.file = file.path, .directories = std::move(directories)};
            break;
        }
    return told;
}

std::string plugin_in(const std::string& directory) {
    return fmt::format("{}{}rdmanet", directory, directory.ends_with('/') ? "" : "/");
}

/// The first directory that has the plugin.
std::optional<std::string> find_plugin(const Context& context, const std::vector<std::string>& directories) {
    for (const std::string& directory : directories)
        if (exists(context.path(plugin_in(directory)))) return directory;
    return std::nullopt;
}

/// A runtime may execute the old file at this moment, so the new one is renamed over it.
std::string install_command(const std::string& directory) {
    const std::string target = base::shell_word(plugin_in(directory));
    return fmt::format("copy it there: `install -m 755 rdmanet {0}.new && mv {0}.new {0}`", target);
}

bool differs_from_this_program(const std::string& path) try {
    constexpr const char* kThis = "/proc/self/exe";
    constexpr std::size_t kMost = 64U << 20U;
    struct stat theirs {};
    struct stat own {};
    if (::stat(path.c_str(), &theirs) != 0 || ::stat(kThis, &own) != 0) return false;
    if (theirs.st_dev == own.st_dev && theirs.st_ino == own.st_ino) return false;
    return theirs.st_size != own.st_size ||
           base::read_named_file_if_exists(path, kMost) != base::read_named_file_if_exists(kThis, kMost);
} catch (const base::Error&) {
    return false; // not readable for this user
}

void check_file(const Context& context, const std::string& directory, Findings& found) {
    const std::string plugin = plugin_in(directory);
    const std::string path = context.path(plugin);
    if (::access(path.c_str(), X_OK) != 0)
        found.failure("", fmt::format("{} is not executable", plugin),
                      fmt::format("`chmod 755 {}`", base::shell_word(plugin)));
    struct statvfs status {};
    if (::statvfs(path.c_str(), &status) == 0 && (status.f_flag & ST_NOEXEC) != 0)
        found.failure("", fmt::format("{} is on a file system that is mounted noexec", plugin),
                      fmt::format("mount {} with exec", directory));
    if (differs_from_this_program(path))
        found.info("", fmt::format("{} is another version of rdmanet than the one that runs now", plugin),
                   fmt::format("if it is older, {}", install_command(directory)));
}

void check_plugin(const Context& context, Findings& found) {
    const std::optional<Told> told = told_directories(context);
    const std::vector<std::string> usual(std::begin(kUsualDirectories), std::end(kUsualDirectories));
    std::vector<std::string> directories = told ? told->directories : usual;
    if (const auto directory = find_plugin(context, directories)) return check_file(context, *directory, found);
    if (told) {
        const auto elsewhere = find_plugin(context, usual);
        found.failure("",
                      fmt::format("the runtime looks for plugins in {} ({}), and rdmanet is {}",
                                  base::join(directories), told->file,
                                  elsewhere ? fmt::format("in {}", *elsewhere) : "not there"),
                      install_command(directories.front()));
        return;
    }
    std::erase_if(directories, [&](const std::string& each) { return !exists(context.path(each)); });
    if (directories.empty()) return;
    const std::string what =
        fmt::format("rdmanet is in no plugin directory of this node; {} is one", directories.front());
    if (context.node.records().list().records.empty())
        found.warning("", what, install_command(directories.front()));
    else
        found.failure("", fmt::format("{}: ADD and DEL fail", what), install_command(directories.front()));
}

constexpr Check kPluginChecks[] = {
    {{"plugin", Layer::runtime, "rdmanet where runtimes look for plugins, and executable"}, check_plugin},
};

} // namespace

std::span<const Check> plugin_checks() {
    return kPluginChecks;
}

} // namespace rdmanet::doctor
