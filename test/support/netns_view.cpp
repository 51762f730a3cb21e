#include "support/netns_view.hpp"

#include "support/netns_visit.hpp"

#include <rdmanet/base/error.hpp>

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <vector>

namespace rdmanet::test {
namespace {

using base::SystemError;
using base::UniqueFd;

UniqueFd open_socket_in(const std::string& path) {
    const NetnsVisit visit(path);
    UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (!socket) throw SystemError("open a netlink socket", errno);
    return socket;
}

/// A request, the size of the fixed part of its answers, and the attributes that change by themselves.
struct Kind {
    std::uint16_t request;
    std::size_t fixed_size;
    std::initializer_list<int> volatile_attributes;
};

const Kind kKinds[] = {{RTM_GETLINK, sizeof(ifinfomsg), {IFLA_STATS, IFLA_STATS64, IFLA_AF_SPEC}},
                       {RTM_GETADDR, sizeof(ifaddrmsg), {IFA_CACHEINFO}},
                       {RTM_GETROUTE, sizeof(rtmsg), {RTA_CACHEINFO}},
                       {RTM_GETRULE, sizeof(rtmsg), {}}};

/// The multicast route of an IPv6 interface appears some time after the interface.
bool comes_later(const Kind& kind, const nlmsghdr* message) {
    return kind.request == RTM_GETROUTE && static_cast<const rtmsg*>(NLMSG_DATA(message))->rtm_type == RTN_MULTICAST;
}

void append_message(std::string& out, const Kind& kind, const nlmsghdr* message) {
    if (comes_later(kind, message)) return;
    const char* at = static_cast<const char*>(NLMSG_DATA(message));
    const char* end = reinterpret_cast<const char*>(message) + message->nlmsg_len;
    out.append(at, kind.fixed_size);
    for (at += NLMSG_ALIGN(kind.fixed_size); at + sizeof(rtattr) <= end;) {
        const auto* attribute = reinterpret_cast<const rtattr*>(at);
        const auto& skipped = kind.volatile_attributes;
        if (std::find(skipped.begin(), skipped.end(), attribute->rta_type) == skipped.end())
            out.append(at, attribute->rta_len);
        at += RTA_ALIGN(attribute->rta_len);
    }
}

void ask(const UniqueFd& socket, const Kind& kind) {
    struct {
        nlmsghdr header;
        ifinfomsg longest;
    } request{};
    request.header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_LENGTH(kind.fixed_size));
    request.header.nlmsg_type = kind.request;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    if (::send(socket.get(), &request, request.header.nlmsg_len, 0) < 0) throw SystemError("ask the kernel", errno);
}

void append_answers(std::string& out, const UniqueFd& socket, const Kind& kind) {
    alignas(nlmsghdr) static char buffer[65536];
    for (;;) {
        const ssize_t count = ::recv(socket.get(), buffer, sizeof buffer, 0);
        if (count < 0) throw SystemError("listen to the kernel", errno);
        auto rest = static_cast<unsigned>(count);
        for (const auto* message = reinterpret_cast<const nlmsghdr*>(buffer); NLMSG_OK(message, rest);
             message = NLMSG_NEXT(message, rest)) {
            if (message->nlmsg_type == NLMSG_DONE) return;
            if (message->nlmsg_type == NLMSG_ERROR) throw base::Error("the kernel refuses a dump");
            append_message(out, kind, message);
        }
    }
}

} // namespace

NetnsView::NetnsView(const std::string& netns_path) : socket_(open_socket_in(netns_path)) {}

std::string NetnsView::bytes() const {
    std::string out;
    for (const Kind& kind : kKinds) {
        ask(socket_, kind);
        append_answers(out, socket_, kind);
    }
    return out;
}

} // namespace rdmanet::test
