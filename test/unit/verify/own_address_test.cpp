// Which of a node's addresses a server tells the other end.
#include "unit/fake_kernel/machine.hpp"

#include <rdmanet/verify/meeting.hpp>

#include <catch2/catch.hpp>

#include <linux/if.h>

using namespace rdmanet;
using kernel::fake::machine;

namespace {

void add_link(const char* name, std::initializer_list<const char*> prefixes, unsigned flags = kernel::fake::kUp) {
    kernel::fake::Netdev& link = machine().add_virtual(name, "");
    link.link.flags = flags;
    for (const char* prefix : prefixes) link.addresses.push_back({.prefix = base::IpPrefix::parse(prefix).value()});
}

void route_by(const char* name, const char* destination) {
    machine()
        .spaces.at(machine().host)
        .routes.push_back({.destination = base::IpPrefix::parse(destination).value(),
                           .ifindex = machine().netdev(name).link.ifindex,
                           .table = kernel::kMainTable});
}

std::string own_address() {
    const auto found = verify::find_own_address();
    return found ? found->to_string() : "none";
}

} // namespace

TEST_CASE("a node's own address is that of its default route, or of any interface that is up") {
    machine() = kernel::fake::Machine();
    CHECK(own_address() == "none");
    add_link("lo", {"127.0.0.1/8"}, kernel::fake::kUp | IFF_LOOPBACK);
    add_link("down0", {"192.0.2.1/24"}, 0);
    add_link("eth0", {"fe80::1/64"});
    CHECK(own_address() == "none");
    add_link("eth1", {"fe80::2/64", "192.0.2.2/24"});
    CHECK(own_address() == "192.0.2.2");
    add_link("eth2", {"fe80::3/64", "2001:db8::3/64"});
    route_by("eth2", "::/0");
    CHECK(own_address() == "2001:db8::3");
    add_link("eth3", {"192.0.2.4/24"});
    route_by("eth3", "0.0.0.0/0");
    CHECK(own_address() == "192.0.2.4");
    machine().netdev("eth3").addresses.clear();
    CHECK(own_address() == "2001:db8::3");
}
