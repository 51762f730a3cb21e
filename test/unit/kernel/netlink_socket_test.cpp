#include <rdmanet/kernel/netlink_socket.hpp>

#include "fixture.hpp"
#include "message.hpp"

#include <catch2/catch.hpp>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <cerrno>

namespace rdmanet::kernel {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("a socket belongs to the namespace it was opened in") {
    NEEDS_NETNS();
    test::Host host;
    const test::Pod pod;
    CHECK(find_link(host.route, test::ifname("parent0")));
    Socket here = Socket::open(Protocol::route, test::soon());
    CHECK_FALSE(find_link(here, test::ifname("parent0")));
    const NetnsScope scope(pod.netns);
    CHECK(find_link(host.route, test::ifname("parent0")));
}

TEST_CASE("a refusal keeps the errno and the kernel's sentence, also behind added context") {
    NEEDS_NETNS();
    test::Pod pod;
    Message request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, ifinfomsg{});
    request.nest(IFLA_LINKINFO, [&] { request.put_text(IFLA_INFO_KIND, "nosuchkind"); });
    try {
        base::in_context("attach", [&] { pod.route.execute(request, "create link"); });
        FAIL("accepted");
    } catch (const NetlinkError& error) {
        CHECK(error.errno_value() == EOPNOTSUPP);
        CHECK(error.kernel_message() == "Unknown device type");
        CHECK(std::string(error.what()) ==
              "attach: create link: operation not supported (kernel: Unknown device type)");
    }
}

TEST_CASE("without a sentence of the kernel the text is only the errno's") {
    CHECK(std::string(NetlinkError("create link", EBUSY, "").what()) == "create link: device or resource busy");
}

TEST_CASE("a request that is never answered ends at the deadline") {
    Socket socket = Socket::open(Protocol::route, base::Deadline::in(std::chrono::milliseconds{50}));
    Message request(NLMSG_NOOP, 0); // the kernel skips control messages (net/netlink/af_netlink.c, netlink_rcv_skb)
    const auto before = std::chrono::steady_clock::now();
    CHECK_THROWS_AS(socket.ask(request), base::TimeoutError);
    CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds{5});
}

TEST_CASE("a long list takes several readings and is complete") {
    NEEDS_NETNS();
    test::Host host;
    constexpr int kPairs = 60; // some 1.5 KB a link
    for (int number = 0; number < kPairs; ++number)
        REQUIRE(test::make_link(
            host.route, {.kind = "veth", .name = "a" + std::to_string(number), .peer = "b" + std::to_string(number)}));
    CHECK(list_links(host.route).size() >= 2 * kPairs + 3);
}

TEST_CASE("a kernel without RDMA is an answer, not an error") {
    const auto socket = Socket::find_rdma(test::soon());
    if (!socket) CHECK_THROWS_AS(Socket::open(Protocol::rdma, test::soon()), base::SystemError);
}

} // namespace
} // namespace rdmanet::kernel
