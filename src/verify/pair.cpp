#include <rdmanet/base/error.hpp>
#include <rdmanet/verify/verify.hpp>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace rdmanet::verify {
namespace {

/// A process that never outlives this one, not even if this one is killed.
class Child {
public:
    template <class Act>
    explicit Child(const Act& act) : pid_(start(act)) {}
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        (void)::kill(pid_, SIGKILL); // it holds nothing that the kernel does not take back
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }

private:
    template <class Act>
    static pid_t start(const Act& act) {
        const pid_t parent = ::getpid();
        const pid_t pid = ::fork();
        if (pid < 0) throw base::SystemError("start a process for the server's end", errno);
        if (pid != 0) return pid;
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1); // it has ended before
        act();
        ::_exit(0);
    }

    pid_t pid_;
};

} // namespace

Report run_pair(const Endpoint& client, const Endpoint& server, const Options& options) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw base::SystemError("connect the two ends", errno);
    base::UniqueFd here(ends[0]);
    base::UniqueFd there(ends[1]);
    const Child child([&] {
        here.reset();
        Options silent = options;
        silent.progress = [](const std::string&) {};
        try {
            (void)run_test(Role::server, server, std::move(there), silent);
        } catch (const std::exception&) { // the client's end has been told
        }
    });
    there.reset();
    return run_test(Role::client, client, std::move(here), options);
}

} // namespace rdmanet::verify
