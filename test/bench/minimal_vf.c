// The least that an ADD and a DEL of a VF with its RDMA device cost. It makes the changes that the plugin makes, with
// the looks that they need, and nothing else: no configuration, checks, journal or lease.
//
//   minimal_vf ADD|DEL NETNS_PATH NETDEV RDMA_DEVICE     interface net1, address 10.97.0.1/16
#include "minimal_requests.h"

#include <rdma/rdma_netlink.h>

static const void *find_attribute(const struct nlmsghdr *message, int type)
{
	const struct rtattr *attribute = NLMSG_DATA(message);
	unsigned left = NLMSG_PAYLOAD(message, 0);
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
		if (attribute->rta_type == type)
			return RTA_DATA(attribute);
	return NULL;
}

// The kernel lists the devices of the socket's namespace, each in an answer of its own.
static unsigned find_rdma(int fd, const char *name)
{
	int found = -1;
	begin(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET), NLM_F_DUMP, 0);
	need(send(fd, &request, request.header.nlmsg_len, 0) > 0, "send");
	for (;;) {
		const struct nlmsghdr *message = (void *)answer;
		need(recv(fd, answer, sizeof answer, 0) > 0, "recv");
		if (message->nlmsg_type == NLMSG_DONE)
			break;
		const char *its_name = find_attribute(message, RDMA_NLDEV_ATTR_DEV_NAME);
		if (its_name != NULL && strcmp(its_name, name) == 0)
			memcpy(&found, find_attribute(message, RDMA_NLDEV_ATTR_DEV_INDEX), sizeof found);
	}
	need(found >= 0, "RDMA device");
	return (unsigned)found;
}

static void move_rdma(int fd, unsigned index, int netns)
{
	begin(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SET), NLM_F_ACK, 0);
	put(RDMA_NLDEV_ATTR_DEV_INDEX, &index, sizeof index);
	put(RDMA_NLDEV_NET_NS_FD, &netns, sizeof netns);
	need(ask(fd) == 0, "move the RDMA device");
}

// Down, like every interface that changes its namespace. The name is taken there.
static void move_link(int fd, unsigned index, int netns, const char *name)
{
	struct ifinfomsg *link = begin(RTM_NEWLINK, NLM_F_ACK, sizeof *link);
	link->ifi_index = (int)index;
	link->ifi_change = IFF_UP;
	put(IFLA_NET_NS_FD, &netns, sizeof netns);
	put(IFLA_IFNAME, name, strlen(name) + 1);
	need(ask(fd) == 0, "move the link");
}

int main(int argc, char **argv)
{
	need(argc == 5, "usage");
	const int adding = strcmp(argv[1], "ADD") == 0;
	const int pod = open_netns(argv[2]);
	const int own = open_netns("/proc/thread-self/ns/net");
	enter(pod);
	const int in_pod = netlink_socket(NETLINK_ROUTE);
	if (!adding) {
		const unsigned link = find_link(in_pod, POD_INTERFACE);
		if (link == 0)
			return 0;
		// The kernel wants the device, the socket and the thread in one namespace.
		const int rdma = netlink_socket(NETLINK_RDMA);
		move_rdma(rdma, find_rdma(rdma, argv[4]), own);
		enter(own);
		move_link(in_pod, link, own, argv[3]);
		return 0;
	}
	enter(own);
	const int on_host = netlink_socket(NETLINK_ROUTE);
	const unsigned vf = find_link(on_host, argv[3]);
	need(vf != 0, "VF");
	need(find_link(in_pod, POD_INTERFACE) == 0, "already there");
	move_link(on_host, vf, pod, POD_INTERFACE);
	const unsigned link = find_link(in_pod, POD_INTERFACE);
	const int rdma = netlink_socket(NETLINK_RDMA);
	move_rdma(rdma, find_rdma(rdma, argv[4]), pod);
	announce_when_up(in_pod, link);
	add_address(in_pod, link);
	bring_up(in_pod, link);
	printf("{\"cniVersion\":\"1.0.0\"}\n");
	return 0;
}
