// The least that an ADD and a DEL of a macvlan cost. It makes the plugin's requests to the kernel, in the same order, and
// does nothing else: no configuration, checks, journal or lease.
//
//   minimal_add ADD|DEL NETNS_PATH PARENT_NAME     interface net1, address 10.97.0.1/16
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define POD_INTERFACE "net1"
static const uint8_t address[4] = {10, 97, 0, 1};

static struct {
	struct nlmsghdr header;
	char body[1024];
} request;
static char answer[65536];

static void need(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void *begin(int type, int flags, size_t header_size)
{
	memset(&request, 0, sizeof request);
	request.header.nlmsg_len = (uint32_t)NLMSG_LENGTH(header_size);
	request.header.nlmsg_type = (uint16_t)type;
	request.header.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	return NLMSG_DATA(&request.header);
}

static struct rtattr *put(int type, const void *data, size_t size)
{
	struct rtattr *attribute = (void *)((char *)&request + NLMSG_ALIGN(request.header.nlmsg_len));
	attribute->rta_type = (uint16_t)type;
	attribute->rta_len = (uint16_t)RTA_LENGTH(size);
	if (size != 0)
		memcpy(RTA_DATA(attribute), data, size);
	request.header.nlmsg_len = (uint32_t)(NLMSG_ALIGN(request.header.nlmsg_len) + RTA_ALIGN(attribute->rta_len));
	return attribute;
}

static void end_nest(struct rtattr *nest)
{
	nest->rta_len = (uint16_t)((char *)&request + request.header.nlmsg_len - (char *)nest);
}

// The error number, or 0.
static int ask(int fd)
{
	struct nlmsghdr *reply = (void *)answer;
	need(send(fd, &request, request.header.nlmsg_len, 0) > 0, "send");
	need(recv(fd, answer, sizeof answer, 0) > 0, "recv");
	if (reply->nlmsg_type != NLMSG_ERROR)
		return 0;
	return -((struct nlmsgerr *)NLMSG_DATA(reply))->error;
}

static unsigned find_link(int fd, const char *name)
{
	begin(RTM_GETLINK, 0, sizeof(struct ifinfomsg));
	const uint32_t no_vf_no_statistics = RTEXT_FILTER_SKIP_STATS;
	put(IFLA_EXT_MASK, &no_vf_no_statistics, sizeof no_vf_no_statistics);
	put(IFLA_IFNAME, name, strlen(name) + 1);
	if (ask(fd) != 0)
		return 0;
	return (unsigned)((struct ifinfomsg *)NLMSG_DATA((struct nlmsghdr *)answer))->ifi_index;
}

static int open_netns(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	need(fd >= 0, "open");
	return fd;
}

static void enter(int netns)
{
	need(setns(netns, CLONE_NEWNET) == 0, "setns");
}

static int netlink_socket(int protocol)
{
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	need(fd >= 0, "socket");
	return fd;
}

static void add_address(int fd, unsigned link)
{
	struct ifaddrmsg *message = begin(RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, sizeof *message);
	message->ifa_family = AF_INET;
	message->ifa_prefixlen = 16;
	message->ifa_index = link;
	put(IFA_LOCAL, address, sizeof address);
	put(IFA_ADDRESS, address, sizeof address);
	need(ask(fd) == 0, "add the address");
}

// The sysctl arp_notify: the kernel announces the address when the link goes up.
static void announce_when_up(int fd, unsigned index)
{
	struct ifinfomsg *link = begin(RTM_NEWLINK, NLM_F_ACK, sizeof *link);
	const uint32_t on = 1;
	struct rtattr *families, *ipv4, *settings;
	link->ifi_index = (int)index;
	families = put(IFLA_AF_SPEC, NULL, 0);
	ipv4 = put(AF_INET, NULL, 0);
	settings = put(IFLA_INET_CONF, NULL, 0);
	put(IPV4_DEVCONF_ARP_NOTIFY, &on, sizeof on);
	end_nest(settings);
	end_nest(ipv4);
	end_nest(families);
	need(ask(fd) == 0, "announce");
}

static void bring_up(int fd, unsigned index)
{
	struct ifinfomsg *link = begin(RTM_NEWLINK, NLM_F_ACK, sizeof *link);
	link->ifi_index = (int)index;
	link->ifi_flags = IFF_UP;
	link->ifi_change = IFF_UP;
	need(ask(fd) == 0, "bring the link up");
}

static const uint8_t mac[6] = {0x02, 0x10, 0x20, 0x30, 0x40, 0x50};

static void add_link(int fd, unsigned parent, int netns)
{
	struct ifinfomsg *link = begin(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, sizeof *link);
	const uint32_t mode = MACVLAN_MODE_BRIDGE;
	struct rtattr *info, *data;
	put(IFLA_IFNAME, POD_INTERFACE, sizeof POD_INTERFACE);
	put(IFLA_LINK, &parent, sizeof parent);
	put(IFLA_NET_NS_FD, &netns, sizeof netns);
	put(IFLA_ADDRESS, mac, sizeof mac);
	info = put(IFLA_LINKINFO, NULL, 0);
	put(IFLA_INFO_KIND, "macvlan", 7);
	data = put(IFLA_INFO_DATA, NULL, 0);
	put(IFLA_MACVLAN_MODE, &mode, sizeof mode);
	end_nest(data);
	end_nest(info);
	need(ask(fd) == 0, "add the link");
}

int main(int argc, char **argv)
{
	need(argc == 4, "usage");
	const int adding = strcmp(argv[1], "ADD") == 0;
	const int pod = open_netns(argv[2]);
	const int own = open_netns("/proc/thread-self/ns/net");
	enter(pod);
	const int in_pod = netlink_socket(NETLINK_ROUTE);
	enter(own);
	if (adding) {
		const int on_host = netlink_socket(NETLINK_ROUTE);
		const unsigned parent = find_link(on_host, argv[3]);
		need(parent != 0, "parent");
		need(find_link(in_pod, POD_INTERFACE) == 0, "already there");
		add_link(on_host, parent, pod);
		const unsigned link = find_link(in_pod, POD_INTERFACE);
		announce_when_up(in_pod, link);
		add_address(in_pod, link);
		bring_up(in_pod, link);
		printf("{\"cniVersion\":\"1.0.0\"}\n");
		return 0;
	}
	const unsigned link = find_link(in_pod, POD_INTERFACE);
	if (link == 0)
		return 0;
	struct ifinfomsg *message = begin(RTM_DELLINK, NLM_F_ACK, sizeof *message);
	message->ifi_index = (int)link;
	need(ask(in_pod) == 0, "delete the link");
	return 0;
}
