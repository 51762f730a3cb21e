// SPDX-License-Identifier: GPL-2.0
/*
 * A PF in switchdev mode. The embedded switch forwards nothing between the PF's VFs and other
 * functions. A VF's frames come out of its representor, a net device beside the PF's own. Frames
 * that are sent into the representor arrive at the VF. A bridge, tc or Open vSwitch forwards in
 * software, and no rules can be offloaded. Sub-functions have no representors and stay on the PF's
 * switch.
 */
#include <linux/rtnetlink.h>
#include "simrnic.h"

struct simrnic_rep {
	struct simrnic_port *port;
	struct simrnic_vport *vport;
};

/* Net devices */

static netdev_tx_t simrnic_rep_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	const struct simrnic_rep *rep = netdev_priv(netdev);

	return simrnic_switch_to_vf(skb, rep->vport);
}

static int simrnic_rep_get_phys_port_name(struct net_device *netdev, char *name, size_t size)
{
	const struct simrnic_rep *rep = netdev_priv(netdev);
	int vf = rep->vport - rep->port->vfs;

	return snprintf(name, size, "pf%uvf%d", rep->port->index, vf) >= size ? -EINVAL : 0;
}

static int simrnic_rep_get_port_parent_id(struct net_device *netdev, struct netdev_phys_item_id *id)
{
	const struct simrnic_rep *rep = netdev_priv(netdev);

	simrnic_switch_id(rep->port, id);
	return 0;
}

static const struct net_device_ops simrnic_rep_netdev_ops = {
	.ndo_start_xmit = simrnic_rep_xmit,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_get_phys_port_name = simrnic_rep_get_phys_port_name,
	.ndo_get_port_parent_id = simrnic_rep_get_port_parent_id,
};

static void simrnic_rep_setup(struct net_device *netdev)
{
	ether_setup(netdev);
	netdev->max_mtu = 9978;
}

static int simrnic_rep_create(struct simrnic_func *pf, unsigned int vf)
{
	struct simrnic_port *port = pf->port;
	const u8 mac[ETH_ALEN] = { 0x02, 0x53, port->nic->index, port->index, vf >> 8, vf };
	struct net_device *netdev;
	struct simrnic_rep *rep;
	int err;

	netdev = alloc_netdev(sizeof(*rep), "eth%d", NET_NAME_PREDICTABLE, simrnic_rep_setup);
	if (!netdev)
		return -ENOMEM;
	rep = netdev_priv(netdev);
	rep->port = port;
	rep->vport = &port->vfs[vf];
	SET_NETDEV_DEV(netdev, pf->dev);
	netdev->netdev_ops = &simrnic_rep_netdev_ops;
	netdev->needs_free_netdev = true;
	snprintf(netdev->name, sizeof(netdev->name), "rep%up%uv%u", port->nic->index, port->index,
		 vf);
	eth_hw_addr_set(netdev, mac);
	err = register_netdevice(netdev);
	if (err) {
		free_netdev(netdev);
		return err;
	}
	rcu_assign_pointer(rep->vport->rep, netdev);
	return 0;
}

static void simrnic_rep_destroy(struct simrnic_vport *vport)
{
	struct net_device *netdev = rtnl_dereference(vport->rep);

	if (!netdev)
		return;
	RCU_INIT_POINTER(vport->rep, NULL);
	unregister_netdevice(netdev); /* waits for the switch's readers */
}

/* The first `count` VFs get representors, and the others lose theirs. */
int simrnic_reps_update(struct simrnic_func *pf, unsigned int count)
{
	struct simrnic_port *port = pf->port;
	unsigned int vf;
	int err = 0;

	rtnl_lock();
	if (!port->switchdev)
		count = 0;
	for (vf = 0; vf < count && !err; vf++)
		if (!rtnl_dereference(port->vfs[vf].rep))
			err = simrnic_rep_create(pf, vf);
	for (vf = err ? 0 : count; vf < simrnic_vfs; vf++)
		simrnic_rep_destroy(&port->vfs[vf]);
	rtnl_unlock();
	return err;
}
