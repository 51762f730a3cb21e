#include <rdmanet/kernel/netlink_socket.hpp>

#include "fixture.hpp"
#include "message.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/without_socket.hpp"

#include <catch2/catch.hpp>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>

namespace rdmanet::kernel {
namespace {

using rdmanet::test::concat;

TEST_CASE("a socket belongs to the namespace in which it was opened") {
    test::Host host;
    const test::Pod pod;
    CHECK(find_link(host.route, test::ifname("parent0")));
    Socket here = Socket::open(Protocol::route, test::soon());
    CHECK_FALSE(find_link(here, test::ifname("parent0")));
    const NetnsScope scope(pod.netns);
    CHECK(find_link(host.route, test::ifname("parent0")));
}

TEST_CASE("a refusal keeps the errno and the kernel's text, if there is one, also with added context") {
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
    CHECK(std::string(NetlinkError("create link", EBUSY, "").what()) == "create link: device or resource busy");
}

TEST_CASE("a request that is never answered ends at the deadline") {
    Socket socket = Socket::open(Protocol::route, base::Deadline::in(std::chrono::milliseconds{50}));
    Message request(NLMSG_NOOP, 0); // the kernel skips control messages (net/netlink/af_netlink.c, netlink_rcv_skb)
    const auto before = std::chrono::steady_clock::now();
    CHECK_THROWS_AS(socket.ask(request), base::TimeoutError);
    CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds{5});
}

/// A host whose list of links takes several answers of the kernel: about 1 KB for each link, and 32 KB for an answer.
struct ManyLinksHost : test::Host {
    static constexpr std::size_t kPairs = 60;

    ManyLinksHost() {
        for (std::size_t number = 0; number < kPairs; ++number) add_pair(std::to_string(number));
    }
    void add_pair(const std::string& suffix) {
        REQUIRE(test::make_link(route, {.kind = "veth", .name = "a" + suffix, .peer = "b" + suffix}));
    }
};

TEST_CASE("a list in several answers is complete, and read again up to five times if it changes meanwhile") {
    ManyLinksHost host;
    CHECK(list_links(host.route).size() == 2 * ManyLinksHost::kPairs + 3); // and lo, parent0, peer0
    Socket reader = test::open_route(host.netns);
    Message request(RTM_GETLINK, 0, ifinfomsg{});
    for (const int disturbed : {1, Socket::kMostDumps}) {
        INFO(disturbed);
        int readings = 0;
        const auto read_disturbed = [&](const nlmsghdr&, std::vector<int>& found) {
            if (found.empty() && readings++ < disturbed) host.add_pair(concat("x", disturbed, "y", readings));
            found.push_back(0);
        };
        const auto read = [&] { return reader.list<int>(request, "list interfaces", read_disturbed); };
        if (disturbed < Socket::kMostDumps)
            CHECK(read().size() == 2 * ManyLinksHost::kPairs + 5);
        else
            CHECK_THROWS_WITH(read(), rdmanet::test::Names("list interfaces", "5", "temporarily unavailable"));
        CHECK(readings == std::min(disturbed + 1, Socket::kMostDumps));
    }
}

TEST_CASE("a kernel without RDMA gives no socket, and only who needs one gets an error") {
    bool has_socket = true;
    std::string why;
    REQUIRE(rdmanet::test::run_without_socket(2, NETLINK_RDMA, EPROTONOSUPPORT, [&] {
        try {
            has_socket = Socket::find_rdma(test::soon()).has_value();
            (void)Socket::open(Protocol::rdma, test::soon());
        } catch (const base::SystemError& error) {
            why = error.what();
        }
    }));
    CHECK_FALSE(has_socket);
    CHECK_THAT(why, rdmanet::test::Names("open netlink socket", "protocol not supported"));
}

} // namespace
} // namespace rdmanet::kernel
