// A netlink socket and the kernel's answers. The other files of this module build the messages.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct nlmsghdr;

namespace rdmanet::kernel {

class Message;

/// A request that the kernel refused. what(): "OPERATION: ERRNO'S TEXT (kernel: ITS OWN SENTENCE)".
class NetlinkError : public base::SystemError {
public:
    NetlinkError(std::string_view operation, int errno_value, std::string kernel_message);

    [[nodiscard]] const char* what() const noexcept override;

    /// The extended acknowledgement's text; empty if there was none.
    [[nodiscard]] const std::string& kernel_message() const noexcept { return kernel_message_; }

private:
    std::string kernel_message_;
    mutable std::string text_; // what() with the kernel's sentence: contexts may be added at any time
};

/// The kernel's answer to one request.
struct Answer {
    int errno_value = 0;
    std::string kernel_message;
    /// The requested object. Null for an acknowledgement or a refusal. Valid until the socket's next request.
    const nlmsghdr* message = nullptr;
};

/// Netlink protocol numbers: linux/netlink.h.
enum class Protocol : int { route = 0, generic = 16, rdma = 20 };

/// Belongs for ever to the network namespace that it was opened in, whatever the thread does later. One request at a
/// time. The kernel executes a request inside the system call that sends it, so `deadline` limits the wait for an
/// answer, not the kernel's own locks. Requests throw NetlinkError, base::TimeoutError, base::SystemError.
class Socket {
public:
    /// Opens a socket in the calling thread's namespace. Throws base::SystemError.
    [[nodiscard]] static Socket open(Protocol protocol, const base::Deadline& deadline);
    /// Enters `netns`, opens a socket and comes back.
    [[nodiscard]] static Socket open_in(const Netns& netns, Protocol protocol, const base::Deadline& deadline);

    /// As above for Protocol::rdma. nullopt if this kernel has no RDMA, or has not loaded it (ib_core).
    [[nodiscard]] static std::optional<Socket> find_rdma(const base::Deadline& deadline);
    [[nodiscard]] static std::optional<Socket> find_rdma_in(const Netns& netns, const base::Deadline& deadline);

    [[nodiscard]] const base::Deadline& deadline() const { return deadline_; }

    /// See netns_cookie().
    [[nodiscard]] std::uint64_t netns_cookie() const { return netns_cookie_of_socket(fd_.get()); }

    /// For requests with one answer: data, an acknowledgement or a refusal.
    [[nodiscard]] Answer ask(Message& request);

    /// For changes: asks for an acknowledgement. A refusal is thrown as NetlinkError with `operation`.
    void execute(Message& request, std::string_view operation);

    /// Passes every message of a dump to `visit`. Returns false if a change made the dump inconsistent
    /// (NLM_F_DUMP_INTR): then what `visit` got must not be used. A refusal is thrown.
    [[nodiscard]] bool dump(Message& request, std::string_view operation,
                            const std::function<void(const nlmsghdr&)>& visit);

    static constexpr int kMostDumps = 5;
    /// A consistent list: for each message of a dump, `parse(message, list)` appends what it wants. An inconsistent dump
    /// is repeated. After kMostDumps dumps NetlinkError (EAGAIN) is thrown.
    template <class T, class Parse>
    [[nodiscard]] std::vector<T> list(Message& request, std::string_view operation, const Parse& parse) {
        for (int dumps = 0; dumps < kMostDumps; ++dumps) {
            std::vector<T> found;
            if (dump(request, operation, [&](const nlmsghdr& message) { parse(message, found); })) return found;
        }
        throw NetlinkError(fmt::format("{}, which changed during each of {} readings", operation, kMostDumps), EAGAIN,
                           {});
    }

    /// From now on the kernel applies the filters in dump requests, and refuses unknown ones (NETLINK_GET_STRICT_CHK,
    /// Linux 4.20). Cheap if repeated.
    void demand_strict_checks();

private:
    Socket(base::UniqueFd fd, const base::Deadline& deadline);
    [[nodiscard]] static std::optional<base::UniqueFd> open_fd(Protocol protocol);

    void send(Message& request);
    [[nodiscard]] std::size_t receive();
    void wait_readable();

    base::UniqueFd fd_;
    base::Deadline deadline_;
    std::unique_ptr<unsigned char[]> buffer_;
    std::uint32_t sequence_ = 0;
    bool strict_ = false;
};

} // namespace rdmanet::kernel
