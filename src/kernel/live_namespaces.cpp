#include <rdmanet/kernel/live_namespaces.hpp>

#include "namespace_link.hpp"

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/process.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/mountinfo.hpp>

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmanet::kernel {
namespace {

/// The value of "KEY=VALUE" among options separated by commas; empty if it is absent.
std::string_view value_of(std::string_view key, std::string_view options) {
    while (!options.empty()) {
        const std::string_view option = options.substr(0, options.find(','));
        if (option.starts_with(key)) return option.substr(key.size());
        options.remove_prefix(std::min(options.size(), option.size() + 1));
    }
    return {};
}

/// Whether the caller is in the group of the mount option gid: in_group_p(), kernel/groups.c. Without the option it
/// is root's group.
bool is_member(gid_t group) {
    const int count = ::getgroups(0, nullptr);
    std::vector<gid_t> groups(count > 0 ? static_cast<std::size_t>(count) : 0);
    if (::getgroups(count, groups.data()) != count) groups.clear();
    return group == ::getegid() || std::find(groups.begin(), groups.end(), group) != groups.end();
}

/// Whether the caller has CAP_SYS_PTRACE in its own user namespace.
bool may_trace() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
    if (::syscall(SYS_capget, &header, sets) != 0) return false;
    return (sets[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective & CAP_TO_MASK(CAP_SYS_PTRACE)) != 0;
}

/// has_pid_permissions(), fs/proc/base.c: who may trace a process sees it, whatever the options. Members of the group
/// `gid` see processes that are "invisible" to others. A caller in its own user namespace has the capability there,
/// but does not see the first process. With "noaccess" processes are listed but cannot be examined, which the search
/// notices itself. Why processes may be missing from `proc`, with the fix: its mount options hidepid and gid
/// (proc(5)). Empty if none is missing. Throws base::SystemError.
std::string find_reason_for_hidden_processes(const std::string& proc) {
    struct stat status {};
    if (::stat(proc.c_str(), &status) != 0) throw base::SystemError(fmt::format("stat {}", proc), errno);
    const std::string mountinfo = read_mountinfo(fmt::format("{}/self", proc)).value_or(std::string());
    const std::string_view mount = find_mount(status.st_dev, mountinfo);
    const std::string_view options = mount.substr(mount.rfind(' ') + 1); // the last word
    const std::string_view hidepid = value_of("hidepid=", options);
    const bool is_from_strangers = hidepid == "invisible" || hidepid == "2"; // numbers before Linux 5.8
    const bool is_from_all = hidepid == "ptraceable" || hidepid == "4";
    if (!is_from_strangers && !is_from_all) return {};
    const auto group = base::parse_integer<gid_t>(value_of("gid=", options)).value_or(0);
    const bool is_shown_all = may_trace() || (is_from_strangers && is_member(group));
    if (is_shown_all && ::access(fmt::format("{}/1", proc).c_str(), F_OK) == 0) return {};
    return fmt::format("/proc hides processes (mount options {}) that may be in its network namespace: run `rdmanet "
                       "gc` as root of the node with CAP_SYS_PTRACE, or `mount -o remount,hidepid=off /proc`",
                       options);
}

constexpr std::string_view kNetnsLink = "/ns/net";
constexpr std::string_view kRoot = "/root"; // in a process's directory: the "/" that it sees

/// The search through one procfs.
class Search {
public:
    explicit Search(const std::string& proc) : proc_(proc) {}

    LiveNetns run() {
        doubt(find_reason_for_hidden_processes(proc_));
        for (const std::string& name : base::list_directory(proc_))
            if (base::parse_integer<unsigned>(name))
                try_process(fmt::format("{}/{}", proc_, name),
                            [&] { visit_process(fmt::format("{}/{}", proc_, name)); });
        visit_denied_mounts();
        settle_denied();
        return std::move(found_);
    }

private:
    /// One process proves life, but only all processes prove death. A process that may not be examined spoils the
    /// proof.
    template <class Visit>
    void try_process(const std::string& process, const Visit& visit) try {
        visit();
    } catch (const base::SystemError& error) {
        doubt_of(process, error.what());
    }

    void visit_process(const std::string& process) {
        visit_thread(process);
        if (has_more_threads(process))
            for (const std::string& thread : base::list_directory(fmt::format("{}/task", process)))
                visit_thread(fmt::format("{}/task/{}", process, thread));
        visit_mounts_of(process);
    }

    void visit_mounts_of(const std::string& process) try {
        const auto mounts =
            parse_namespace(base::find_symlink(fmt::format("{}/ns/mnt", process)).value_or(std::string()), "mnt");
        if (mounts && seen_mounts_.insert(*mounts).second) visit_mounts(fmt::format("{}/mountinfo", process), *mounts);
    } catch (const base::SystemError& error) {
        if (!is_denied(error)) throw;
        denied_mounts_.push_back(process);
    }

    /// Everyone may read these mounts (mounts_open_common(), fs/proc_namespace.c), but not follow their paths.
    /// Processes that see the same mounts and may be examined come first. The first line has the number of a mount,
    /// which is unique among mount namespaces.
    void visit_denied_mounts() {
        std::set<std::string> seen;
        for (const std::string& process : denied_mounts_)
            try_process(process, [&] {
                const std::string path = fmt::format("{}/mountinfo", process);
                const std::string beginning = base::find_line(AT_FDCWD, path).value_or(std::string());
                if (seen.insert(beginning.substr(0, beginning.find('\n'))).second) visit_mounts(path, 0);
            });
    }

    /// The link count of a "task" directory is the number of threads and two (fs/proc/base.c, proc_task_getattr).
    static bool has_more_threads(const std::string& process) {
        struct stat status {};
        return ::stat(fmt::format("{}/task", process).c_str(), &status) == 0 && status.st_nlink != 3;
    }

    void visit_thread(const std::string& thread) try {
        if (const auto inode =
                parse_namespace(base::find_symlink(fmt::format("{}/ns/net", thread)).value_or(std::string()), "net"))
            mark(*inode, fmt::format("{}{}", thread, kNetnsLink));
    } catch (const base::SystemError& error) {
        if (!is_denied(error)) throw;
        if (const auto files = netns_files(thread)) denied_.push_back({thread, error.what(), *files});
    }

    static bool is_denied(const base::SystemError& error) {
        return error.errno_value() == EACCES || error.errno_value() == EPERM;
    }

    /// Only who may trace a process may read the link to its network namespace (proc_ns_readlink()), but everyone may
    /// read its files in /proc/PID/net (get_proc_task_net(), fs/proc/proc_net.c). Each namespace has its own files
    /// with their own inode numbers, which show whether two processes share a namespace. nullopt for a process
    /// without these files, because it has ended.
    static std::optional<ino_t> netns_files(const std::string& thread) {
        const std::string path = fmt::format("{}/net/dev", thread);
        struct stat status {};
        if (::stat(path.c_str(), &status) == 0) return status.st_ino;
        if (errno == ENOENT || errno == ESRCH) return std::nullopt;
        throw base::SystemError(fmt::format("stat {}", path), errno);
    }

    /// A thread that may not be examined does no harm if it shares a namespace with one that may: the host's own
    /// threads are in the caller's namespace. A thread that is alone in its namespace may be in any namespace that is
    /// searched for.
    void settle_denied() {
        if (denied_.empty()) return;
        std::set<ino_t> known;
        const auto add = [&](const std::string& thread) {
            if (const auto files = netns_files(thread)) known.insert(*files);
        };
        add(fmt::format("{}/self", proc_));
        for (const auto& [inode, path] : found_.paths)
            if (path.ends_with(kNetnsLink)) add(path.substr(0, path.size() - kNetnsLink.size()));
        for (const Denied& denied : denied_)
            if (!known.contains(denied.files)) doubt_of(denied.thread, denied.error);
    }

    /// PROC/PID or PROC/PID/task/TID.
    [[nodiscard]] std::int64_t pid_of(const std::string& thread) const {
        const std::string_view rest = std::string_view(thread).substr(proc_.size() + 1);
        return base::parse_integer<std::int64_t>(rest.substr(0, rest.find('/'))).value_or(0);
    }

    void doubt_of(const std::string& thread, std::string_view error) {
        doubt(fmt::format("{} may be in its network namespace and cannot be examined ({}): run `rdmanet gc` as root of "
                          "the node with CAP_SYS_PTRACE, or end that process",
                          base::describe_process(pid_of(thread)), error));
    }

    void doubt(std::string why) {
        if (found_.doubt.empty()) found_.doubt = std::move(why);
    }

    /// proc_pid_mountinfo(5): "ID PARENT DEVICE ROOT MOUNT-POINT ...". ROOT of a mounted namespace is its
    /// "net:[...]".
    void visit_mounts(const std::string& path, std::uint64_t mounts) {
        const auto text = find_mountinfo(path);
        if (!text) {
            seen_mounts_.erase(mounts); // another process with these mounts may still list them
            return;
        }
        constexpr std::string_view mark_text = " net:[";
        for (std::size_t at = text->find(mark_text); at != std::string::npos; at = text->find(mark_text, at + 1)) {
            const std::size_t end = text->find(' ', at + 1);
            if (const auto inode = parse_namespace(std::string_view(*text).substr(at + 1, end - at - 1), "net"))
                mark(*inode,
                     fmt::format("{}{}{}", path.substr(0, path.rfind('/')), kRoot, mount_point(*text, end + 1)));
        }
    }

    /// Reads up to the next space. The kernel writes blanks and backslashes as \ooo (seq_path()).
    static std::string mount_point(std::string_view text, std::size_t from) {
        std::string path;
        for (; from < text.size() && text[from] != ' '; ++from) {
            const auto escaped =
                text[from] == '\\' ? base::parse_integer<unsigned char>(text.substr(from + 1, 3), 8) : std::nullopt;
            path.push_back(escaped ? static_cast<char>(*escaped) : text[from]);
            if (escaped) from += 3;
        }
        return path;
    }

    /// EINVAL: the process has ended and left its mounts (fs/proc_namespace.c, mounts_open_common).
    static std::optional<std::string> find_mountinfo(const std::string& path) try {
        return base::read_file_if_exists(path, kMostMountinfoBytes);
    } catch (const base::SystemError& error) {
        if (error.errno_value() == EINVAL || error.errno_value() == ESRCH) return std::nullopt;
        throw;
    }

    void mark(std::uint64_t inode, std::string path) { found_.paths.emplace(inode, std::move(path)); }

    struct Denied {
        std::string thread;
        std::string error;
        ino_t files = 0;
    };

    LiveNetns found_;
    std::vector<Denied> denied_;
    std::vector<std::string> denied_mounts_; // PROC/PID
    std::set<std::uint64_t> seen_mounts_;
    const std::string& proc_;
};

} // namespace

LiveNetns list_live_netns(const std::string& proc) {
    return Search(proc).run();
}

NetnsHolder parse_holder(std::string_view path, std::string_view proc) {
    std::string_view rest = path.substr(std::min(proc.size() + 1, path.size()));
    NetnsHolder holder{.pid = base::parse_integer<std::int64_t>(rest.substr(0, rest.find('/'))).value_or(0)};
    rest.remove_prefix(std::min(rest.find('/'), rest.size()));
    if (rest.starts_with(kRoot)) holder.mount_point = rest.substr(kRoot.size());
    return holder;
}

std::string boot_id() {
    constexpr const char* kFile = "/proc/sys/kernel/random/boot_id";
    auto read = base::read_file_if_exists(kFile, 64);
    if (!read)
        throw base::Error(fmt::format(
            "{} is missing, and with it the boot ID, processes and sysctls: mount /proc (`mount -t proc proc /proc`)",
            kFile));
    std::string text = *std::move(read);
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

} // namespace rdmanet::kernel
