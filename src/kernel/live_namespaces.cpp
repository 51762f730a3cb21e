#include <rdmanet/kernel/live_namespaces.hpp>

#include "directory.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/process.hpp>
#include <rdmanet/base/text.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace rdmanet::kernel {
namespace {

using base::concat;

constexpr std::size_t kMostMountinfo = 64U << 20U; // nodes have some ten thousand mounts of some 200 bytes

/// From "net:[4026531840]" (namespaces(7)).
std::optional<std::uint64_t> parse_namespace(std::string_view text, std::string_view kind) {
    if (!text.starts_with(concat(kind, ":[")) || !text.ends_with(']')) return std::nullopt;
    text.remove_prefix(kind.size() + 2);
    text.remove_suffix(1);
    return base::parse_integer<std::uint64_t>(text);
}

/// The search through one procfs.
class Search {
public:
    explicit Search(const std::string& proc) : proc_(proc) {}

    LiveNetns run() {
        for (const std::string& name : list_directory(proc_))
            if (const auto pid = base::parse_integer<unsigned>(name)) try_process(concat(proc_, '/', name), *pid);
        return std::move(found_);
    }

private:
    /// Life is proven by one process, death only by all: one that may not be looked at spoils the proof.
    void try_process(const std::string& process, unsigned pid) try {
        visit_process(process);
    } catch (const base::SystemError& error) {
        if (found_.doubt.empty())
            found_.doubt = concat(base::describe_process(pid), " can't be examined (", error.what(), ')');
    }

    void visit_process(const std::string& process) {
        visit_thread(process);
        if (has_more_threads(process))
            for (const std::string& thread : list_directory(concat(process, "/task")))
                visit_thread(concat(process, "/task/", thread));
        const auto mounts = parse_namespace(find_symlink(concat(process, "/ns/mnt")).value_or(std::string()), "mnt");
        if (mounts && seen_mounts_.insert(*mounts).second) visit_mounts(concat(process, "/mountinfo"), *mounts);
    }

    /// The link count of a "task" directory is the number of threads and two (fs/proc/base.c, proc_task_getattr).
    static bool has_more_threads(const std::string& process) {
        struct stat status {};
        return ::stat(concat(process, "/task").c_str(), &status) == 0 && status.st_nlink != 3;
    }

    void visit_thread(const std::string& thread) {
        if (const auto inode = parse_namespace(find_symlink(concat(thread, "/ns/net")).value_or(std::string()), "net"))
            mark(*inode, concat(thread, "/ns/net"));
    }

    /// proc_pid_mountinfo(5): "ID PARENT DEVICE ROOT MOUNT-POINT ..."; ROOT of a mounted namespace is its "net:[...]".
    void visit_mounts(const std::string& path, std::uint64_t mounts) {
        const auto text = find_mountinfo(path);
        if (!text) {
            seen_mounts_.erase(mounts); // its next process may tell
            return;
        }
        constexpr std::string_view mark_text = " net:[";
        for (std::size_t at = text->find(mark_text); at != std::string::npos; at = text->find(mark_text, at + 1)) {
            const std::size_t end = text->find(' ', at + 1);
            if (const auto inode = parse_namespace(std::string_view(*text).substr(at + 1, end - at - 1), "net"))
                mark(*inode, concat(path.substr(0, path.rfind('/')), "/root", mount_point(*text, end + 1)));
        }
    }

    /// Up to the next space; the kernel writes blanks and backslashes in it as \ooo (seq_path()).
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
        return base::read_file_if_exists(path, kMostMountinfo);
    } catch (const base::SystemError& error) {
        if (error.errno_value() == EINVAL || error.errno_value() == ESRCH) return std::nullopt;
        throw;
    }

    void mark(std::uint64_t inode, std::string path) { found_.paths.emplace(inode, std::move(path)); }

    LiveNetns found_;
    std::set<std::uint64_t> seen_mounts_;
    const std::string& proc_;
};

} // namespace

LiveNetns list_live_netns(const std::string& proc) {
    return Search(proc).run();
}

std::uint64_t pid_namespace_inode() {
    const char* path = "/proc/self/ns/pid";
    struct stat status {};
    if (::stat(path, &status) != 0) throw base::SystemError(concat("stat ", path), errno);
    return status.st_ino;
}

std::string boot_id() {
    constexpr const char* kFile = "/proc/sys/kernel/random/boot_id";
    auto read = base::read_file_if_exists(kFile, 64);
    if (!read)
        throw base::Error(base::concat(kFile,
                                       " is missing, and with it the boot ID, processes and sysctls: mount /proc "
                                       "(`mount -t proc proc /proc`)"));
    std::string text = *std::move(read);
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

} // namespace rdmanet::kernel
