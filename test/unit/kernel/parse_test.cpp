// Answers of a real kernel (Linux 6.1) byte by byte, and answers that no kernel here gives.
#include "answer.hpp"
#include "link_parse.hpp"
#include "message.hpp"
#include "rdma_parse.hpp"
#include "route_parse.hpp"

#include <rdmanet/base/hex_pairs.hpp>

#include <catch2/catch.hpp>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace rdmanet::kernel {
namespace {

/// A message at an address that is aligned for its header.
class Captured {
public:
    explicit Captured(const std::vector<unsigned char>& bytes) : words_((bytes.size() + 3) / 4) {
        std::memcpy(words_.data(), bytes.data(), bytes.size());
    }
    [[nodiscard]] const nlmsghdr& message() const { return *reinterpret_cast<const nlmsghdr*>(words_.data()); }

private:
    std::vector<std::uint32_t> words_;
};

// clang-format off
const std::vector<unsigned char> kRdmaDevice = {
    0x78, 0x00, 0x00, 0x00, 0x01, 0x14, 0x02, 0x00, 0x01, 0x00, 0x00, 0x00, 0x64, 0x00, 0x00, 0x00,
    0x08, 0x00, 0x01, 0x00, 0x01, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x02, 0x00, 0x72, 0x6f, 0x63, 0x65,
    0x31, 0x70, 0x30, 0x00, 0x08, 0x00, 0x03, 0x00, 0x01, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x04, 0x00,
    0x00, 0x0c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x05, 0x00, 0x31, 0x2e, 0x30, 0x2e,
    0x30, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x06, 0x00, 0x00, 0x00, 0x00, 0xfe, 0xff, 0x01, 0x52, 0x00,
    0x0c, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0xfe, 0xff, 0x01, 0x52, 0x00, 0x05, 0x00, 0x0e, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x05, 0x00, 0x54, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x00, 0x43, 0x00,
    0x72, 0x6f, 0x63, 0x65, 0x00, 0x00, 0x00, 0x00};

const std::vector<unsigned char> kRdmaPort = {
    0x50, 0x00, 0x00, 0x00, 0x05, 0x14, 0x02, 0x00, 0x02, 0x00, 0x00, 0x00, 0x64, 0x00, 0x00, 0x00,
    0x08, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x02, 0x00, 0x72, 0x6f, 0x63, 0x65,
    0x30, 0x70, 0x30, 0x00, 0x08, 0x00, 0x03, 0x00, 0x01, 0x00, 0x00, 0x00, 0x05, 0x00, 0x0c, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x05, 0x00, 0x0d, 0x00, 0x03, 0x00, 0x00, 0x00, 0x08, 0x00, 0x32, 0x00,
    0x02, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x33, 0x00, 0x72, 0x6e, 0x69, 0x63, 0x30, 0x70, 0x30, 0x00};

const std::vector<unsigned char> kRdmaQueuePairs = {
    0xa8, 0x00, 0x00, 0x00, 0x0a, 0x14, 0x02, 0x00, 0x01, 0x00, 0x00, 0x00, 0x64, 0x00, 0x00, 0x00,
    0x08, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x02, 0x00, 0x72, 0x6f, 0x63, 0x65,
    0x30, 0x70, 0x30, 0x00, 0x84, 0x00, 0x13, 0x00, 0x48, 0x00, 0x14, 0x00, 0x08, 0x00, 0x15, 0x00,
    0x01, 0x01, 0x00, 0x00, 0x0c, 0x00, 0x1d, 0x00, 0x73, 0x69, 0x6d, 0x72, 0x6e, 0x69, 0x63, 0x00,
    0x08, 0x00, 0x16, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x17, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x08, 0x00, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x00, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x05, 0x00, 0x1a, 0x00, 0x02, 0x00, 0x00, 0x00, 0x05, 0x00, 0x1b, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x38, 0x00, 0x14, 0x00, 0x08, 0x00, 0x15, 0x00, 0x02, 0x01, 0x00, 0x00, 0x11, 0x00, 0x1d, 0x00,
    0x73, 0x69, 0x6d, 0x72, 0x6e, 0x69, 0x63, 0x5f, 0x75, 0x73, 0x65, 0x72, 0x00, 0x00, 0x00, 0x00,
    0x08, 0x00, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x00, 0x1a, 0x00, 0x04, 0x00, 0x00, 0x00,
    0x05, 0x00, 0x1b, 0x00, 0x00, 0x00, 0x00, 0x00};
// clang-format on

TEST_CASE("an RDMA device's message is parsed") {
    const Captured captured(kRdmaDevice);
    const auto device = parse_rdma_device(captured.message());
    REQUIRE(device);
    CHECK(device->index == 1);
    CHECK(device->name == "roce1p0");
    CHECK(device->node_guid == 0x005201fffe000000); // sysfs: 0052:01ff:fe00:0000
    CHECK(device->port_count == 1);
    CHECK(device->protocol == "roce");
    CHECK_FALSE(parse_rdma_port(captured.message()));
    CHECK_FALSE(parse_link(captured.message()));
}

TEST_CASE("an RDMA port's message is parsed") {
    const Captured captured(kRdmaPort);
    const auto port = parse_rdma_port(captured.message());
    REQUIRE(port);
    CHECK(port->device_index == 0);
    CHECK(port->device == "roce0p0");
    CHECK(port->port == 1);
    CHECK(port->state == PortState::down);
    CHECK(port->physical_state == 3);
    CHECK(port->netdev_ifindex == 2U);
    CHECK(port->netdev_name == "rnic0p0");
    CHECK(port->to_string() == "port 1 of RDMA device \"roce0p0\"");
    CHECK(port->link_name() == "roce0p0/1");
    CHECK(parse_rdma_link_name("roce0p0/1")->device == "roce0p0");
    CHECK(parse_rdma_link_name("roce0p0/1")->port == 1);
    for (const char* bad : {"", "roce0p0", "roce0p0/", "roce0p0/x"}) CHECK_FALSE(parse_rdma_link_name(bad));
    CHECK(port->states_text() == "state down, physical state disabled");
    CHECK_FALSE(parse_rdma_device(captured.message()));
}

TEST_CASE("queue pairs of kernel modules are parsed") {
    const auto pairs = parse_kernel_queue_pairs(Captured(kRdmaQueuePairs).message());
    REQUIRE(pairs.size() == 2);
    CHECK((pairs[0].number == 257 && pairs[0].module == "simrnic"));
    CHECK((pairs[1].number == 258 && pairs[1].module == "simrnic_user"));
    for (std::size_t length = sizeof(nlmsghdr); length < kRdmaQueuePairs.size(); ++length) {
        auto bytes = kRdmaQueuePairs;
        bytes[0] = static_cast<unsigned char>(length);
        bytes.resize(length);
        CHECK(parse_kernel_queue_pairs(Captured(bytes).message()).size() < 2);
    }
}

TEST_CASE("only connections of kernel modules with a queue pair are kept") {
    Message message(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_CM_ID_GET), 0);
    const auto entry = [&](std::uint32_t number, int attribute) {
        message.nest(RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY, [&] {
            if (number != 0) message.put_u32(RDMA_NLDEV_ATTR_RES_LQPN, number);
            message.put_text(attribute, "nvme_rdma");
        });
    };
    message.nest(RDMA_NLDEV_ATTR_RES_CM_ID, [&] {
        entry(0, RDMA_NLDEV_ATTR_RES_KERN_NAME); // only listens
        entry(5, RDMA_NLDEV_ATTR_RES_PID);       // belongs to a process
        entry(6, RDMA_NLDEV_ATTR_RES_KERN_NAME);
    });
    const auto pairs = parse_kernel_queue_pairs(message.header());
    REQUIRE(pairs.size() == 1);
    CHECK((pairs[0].number == 6 && pairs[0].module == "nvme_rdma"));
}

TEST_CASE("a truncated message is never read beyond its end") {
    for (std::size_t length = sizeof(nlmsghdr); length < kRdmaPort.size(); ++length) {
        std::vector<unsigned char> bytes(kRdmaPort.begin(), kRdmaPort.begin() + static_cast<std::ptrdiff_t>(length));
        bytes[0] = static_cast<unsigned char>(length);
        const auto port = parse_rdma_port(Captured(bytes).message());
        if (port) CHECK(port->netdev_name != "rnic0p0");
    }
}

/// An NLMSG_ERROR with a text. Unless the message is capped, the copy of the request comes first.
Message refusal(int flags, std::uint32_t copied_length, const std::vector<unsigned char>& copy) {
    nlmsgerr error{};
    error.error = -17;
    error.msg.nlmsg_len = copied_length;
    Message message(NLMSG_ERROR, flags | NLM_F_ACK_TLVS, error);
    message.append(copy);
    message.put_text(NLMSGERR_ATTR_MSG, "no");
    return message;
}

TEST_CASE("the kernel's text is found behind a copy of the request, and without one") {
    CHECK(parse_error(refusal(NLM_F_CAPPED, 40, {}).header()).kernel_message == "no");
    CHECK(parse_error(refusal(0, 24, std::vector<unsigned char>(8)).header()).kernel_message == "no");
    CHECK(parse_error(refusal(0, 4000, {}).header()).kernel_message.empty()); // claims a longer copy than it has
    CHECK(parse_error(refusal(0, 0, {}).header()).errno_value == 17);
    CHECK(parse_error(Message(NLMSG_ERROR, 0).header()).errno_value == EBADMSG);
    CHECK(parse_done(Message(NLMSG_DONE, 0).header()).errno_value == 0);
    CHECK(parse_done(Message(NLMSG_DONE, 0, -19).header()).errno_value == 19);
}

TEST_CASE("messages of other requests and truncated ones are skipped") {
    Message message(NLMSG_DONE, 0, 0);
    message.header().nlmsg_seq = 5;
    const auto* bytes = reinterpret_cast<const unsigned char*>(&message.header());
    const auto count = [&](std::size_t length, std::uint32_t sequence) {
        int messages = 0;
        for_each_message({bytes, length}, sequence, [&](const nlmsghdr&) { ++messages; });
        return messages;
    };
    CHECK(count(message.header().nlmsg_len, 5) == 1);
    CHECK(count(message.header().nlmsg_len, 4) == 0);
    CHECK(count(message.header().nlmsg_len - 1, 5) == 0);
    CHECK(count(0, 5) == 0);
}

TEST_CASE("an InfiniBand interface has 20 address bytes with its port's GID, and no MAC") {
    ifinfomsg header{};
    header.ifi_index = 9;
    header.ifi_type = 32;
    Message message(RTM_NEWLINK, 0, header);
    message.put_text(IFLA_IFNAME, "ib0");
    const std::string address = "80:00:01:01:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:ab:01";
    message.put(IFLA_ADDRESS, base::parse_hex_pairs<20>(address).value());
    message.put_text(IFLA_PARENT_DEV_NAME, "0000:3b:00.2");
    message.put_u32(IFLA_LINK_NETNSID, 0);
    const auto link = parse_link(message.header());
    REQUIRE(link);
    CHECK(link->name == "ib0");
    CHECK(link->hardware_type == 32);
    CHECK(link->hardware_address_text() == address);
    CHECK_FALSE(link->mac());
    CHECK(link->port_gid() == base::IpAddress::parse("fe80::200:0:0:ab01"));
    CHECK(link->port_gid() == parse_port_gid(address));
    CHECK(link->port_guid() == base::Guid::parse("02:00:00:00:00:00:ab:01"));
    CHECK_FALSE(parse_port_gid("02:00:00:00:00:01"));
    CHECK_FALSE(Link{.hardware_type = 1, .hardware_address = link->hardware_address}.port_gid());
    CHECK(link->parent_device == "0000:3b:00.2");
    CHECK(link->parent_netnsid == 0);
    CHECK(link->kind.empty());
    CHECK_FALSE(link->macvlan);
}

TEST_CASE("only unicast routes of the requested family are read") {
    rtmsg header{};
    header.rtm_family = AF_INET;
    header.rtm_type = RTN_UNICAST;
    header.rtm_table = RT_TABLE_MAIN;
    CHECK(parse_routes(Message(RTM_NEWROUTE, 0, header).header(), base::Family::v4).size() == 1);
    CHECK(parse_routes(Message(RTM_NEWROUTE, 0, header).header(), base::Family::v6).empty());
    CHECK(parse_routes(Message(RTM_DELROUTE, 0, header).header(), base::Family::v4).empty());
    header.rtm_type = RTN_LOCAL;
    CHECK(parse_routes(Message(RTM_NEWROUTE, 0, header).header(), base::Family::v4).empty());
    header.rtm_type = RTN_UNICAST;
    header.rtm_dst_len = 33;
    CHECK(parse_routes(Message(RTM_NEWROUTE, 0, header).header(), base::Family::v4).empty());
}

TEST_CASE("next hops that claim more bytes than the message has are left out") {
    rtmsg header{};
    header.rtm_family = AF_INET;
    header.rtm_type = RTN_UNICAST;
    rtnexthop hops[2] = {};
    hops[0].rtnh_len = hops[1].rtnh_len = sizeof(rtnexthop);
    hops[0].rtnh_ifindex = 3;
    hops[1].rtnh_ifindex = 4;
    const auto read = [&] {
        Message message(RTM_NEWROUTE, 0, header);
        message.put(RTA_MULTIPATH, {reinterpret_cast<const unsigned char*>(hops), sizeof hops});
        return parse_routes(message.header(), base::Family::v4);
    };
    REQUIRE(read().size() == 2);
    CHECK(read()[0].ifindex == 3);
    CHECK(read()[1].ifindex == 4);
    hops[1].rtnh_len = 200;
    CHECK(read().size() == 1);
    hops[0].rtnh_len = 2;
    CHECK(read().empty());
}

} // namespace
} // namespace rdmanet::kernel
