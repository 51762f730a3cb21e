#include "support/named_netns.hpp"
#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <fcntl.h>
#include <linux/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <future>

namespace rdmanet::test {
namespace {

constexpr const char* kDirectory = "/run/netns";

std::string path_of(const std::string& name) {
    return concat(kDirectory, '/', name);
}

void require(bool done, const std::string& what) {
    if (!done) throw base::SystemError(what, errno);
}

/// Mounts in the directory propagate to other mount namespaces, so that none of them keeps a namespace alive.
void share_directory() {
    (void)::mkdir(kDirectory, 0755);
    if (::mount("", kDirectory, "none", MS_SHARED | MS_REC, nullptr) == 0) return;
    require(::mount(kDirectory, kDirectory, "none", MS_BIND | MS_REC, nullptr) == 0 &&
                ::mount("", kDirectory, "none", MS_SHARED | MS_REC, nullptr) == 0,
            concat("share ", kDirectory));
}

void set_loopback_up() {
    const base::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP;
    require(::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0, "set lo up");
}

} // namespace

void add_netns(const std::string& name) {
    share_directory();
    const std::string path = path_of(name);
    require(static_cast<bool>(base::UniqueFd(::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0))),
            concat("make ", path));
    std::async(std::launch::async,
               [&] { // in another thread, so that the caller stays where it is if this fails
                   const base::UniqueFd home(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
                   require(::unshare(CLONE_NEWNET) == 0, "make a network namespace");
                   set_loopback_up();
                   require(::mount("/proc/thread-self/ns/net", path.c_str(), "none", MS_BIND, nullptr) == 0,
                           concat("mount ", path));
                   // The kernel takes a thread out of its namespaces some time after join() returns (do_exit():
                   // exit_mm() comes first). Without this the new namespace would still be in use.
                   require(::setns(home.get(), CLONE_NEWNET) == 0, "return from a network namespace");
               })
        .get();
}

void delete_netns(const std::string& name) {
    const std::string path = path_of(name);
    (void)::umount2(path.c_str(), MNT_DETACH);
    require(::unlink(path.c_str()) == 0, concat("remove ", path));
}

} // namespace rdmanet::test
