// Answers of a real kernel (Linux 6.1) byte by byte, and answers that no kernel here gives.
#include "message.hpp"
#include "parse.hpp"

#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/rdma.hpp>
#include <rdmanet/kernel/route.hpp>
#include <rdmanet/kernel/vf.hpp>

#include <rdmanet/base/text.hpp>

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

/// Bytes as hexadecimal digits; spaces do not count.
std::vector<unsigned char> bytes_of(std::string text) {
    std::erase(text, ' ');
    std::vector<unsigned char> bytes;
    for (std::size_t at = 0; at < text.size(); at += 2)
        bytes.push_back(base::parse_integer<unsigned char>(text.substr(at, 2), 16).value());
    return bytes;
}

const auto kRdmaDevice = bytes_of(
    "78000000 01140200 01000000 64000000 08000100 01000000 0c000200 726f6365 31703000 08000300 01000000 0c000400 "
    "000c0000 00000000 0a000500 312e302e 30000000 0c000600 000000fe ff015200 0c000700 000000fe ff015200 05000e00 "
    "01000000 05005400 00000000 09004300 726f6365 00000000 ");
const auto kRdmaPort = bytes_of(
    "50000000 05140200 02000000 64000000 08000100 00000000 0c000200 726f6365 30703000 08000300 01000000 05000c00 "
    "01000000 05000d00 03000000 08003200 02000000 0c003300 726e6963 30703000 ");
const auto kRdmaQueuePairs = bytes_of(
    "a8000000 0a140200 01000000 64000000 08000100 00000000 0c000200 726f6365 30703000 84001300 48001400 08001500 "
    "01010000 0c001d00 73696d72 6e696300 08001600 00000000 08001700 00000000 08001800 00000000 05001900 00000000 "
    "05001a00 02000000 05001b00 00000000 38001400 08001500 02010000 11001d00 73696d72 6e69635f 75736572 00000000 "
    "08001800 00000000 05001a00 04000000 05001b00 00000000 ");

TEST_CASE("messages of an RDMA device and of its port are parsed") {
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
    const Captured of_port(kRdmaPort);
    const auto port = parse_rdma_port(of_port.message());
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
    CHECK_FALSE(parse_rdma_device(of_port.message()));
}

TEST_CASE("queue pairs of kernel modules are parsed") {
    const auto pairs = parse_kernel_queue_pairs(Captured(kRdmaQueuePairs).message());
    REQUIRE(pairs.size() == 2);
    CHECK((pairs[0].number == 257 && pairs[0].module == "simrnic"));
    CHECK((pairs[1].number == 258 && pairs[1].module == "simrnic_user"));
}

TEST_CASE("a truncated message is never read beyond its end") {
    const auto cut = [](std::vector<unsigned char> bytes, std::size_t length) {
        bytes.resize(length);
        bytes[0] = static_cast<unsigned char>(length);
        return Captured(bytes);
    };
    for (std::size_t length = sizeof(nlmsghdr); length <= kRdmaQueuePairs.size(); ++length) {
        const auto pairs = parse_kernel_queue_pairs(cut(kRdmaQueuePairs, length).message());
        CHECK((pairs.size() == 2) == (length == kRdmaQueuePairs.size()));
    }
    for (std::size_t length = sizeof(nlmsghdr); length <= kRdmaPort.size(); ++length) {
        const auto port = parse_rdma_port(cut(kRdmaPort, length).message());
        CHECK((port && port->netdev_name == "rnic0p0") == (length == kRdmaPort.size()));
        CHECK((port && port->device == "roce0p0") == (length >= 36)); // where its name ends
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
        return messages_in({bytes, length}, sequence).size();
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

Message answer_of_kernel() {
    return {RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET), 0};
}

RdmaSystem parse_system(Message& message) {
    return parse_rdma_system({.errno_value = 0, .message = &message.header()});
}

TEST_CASE("the RDMA mode and copies on fork are what the kernel says") {
    Message today = answer_of_kernel();
    today.put_u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0);
    today.put_u8(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
    CHECK(parse_system(today).netns_mode == RdmaNetnsMode::exclusive);
    CHECK(parse_system(today).copies_on_fork);

    Message early = answer_of_kernel(); // Linux 5.3
    early.put_u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1);
    CHECK(parse_system(early).netns_mode == RdmaNetnsMode::shared);
    CHECK_FALSE(parse_system(early).copies_on_fork);
}

TEST_CASE("a kernel without RDMA modes shares its devices, and is told from one in mode shared") {
    Message silent = answer_of_kernel();
    CHECK_FALSE(parse_system(silent).netns_mode);
    CHECK(parse_system(silent).mode() == RdmaNetnsMode::shared);
    for (const int error : {0, EINVAL}) { // an acknowledgement alone; a number that the kernel does not know
        const RdmaSystem system = parse_rdma_system({.errno_value = error});
        CHECK_FALSE(system.netns_mode);
        CHECK_FALSE(system.copies_on_fork);
    }
    CHECK_THROWS_AS((void)parse_rdma_system({.errno_value = EPERM}), NetlinkError);
}

} // namespace
} // namespace rdmanet::kernel
