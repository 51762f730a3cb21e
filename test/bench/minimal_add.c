// The least that an ADD and a DEL of a macvlan cost. It makes the plugin's requests to the kernel, in the same order, and
// does nothing else: no configuration, checks, journal or lease.
//
//   minimal_add ADD|DEL NETNS_PATH PARENT_NAME     interface net1, address 10.97.0.1/16
#include "minimal_requests.h"

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
