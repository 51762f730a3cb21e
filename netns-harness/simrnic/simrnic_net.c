// SPDX-License-Identifier: GPL-2.0
/* Ethernet net devices of PFs and VFs. */
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include "simrnic.h"

static int simrnic_open(struct net_device *netdev)
{
	struct simrnic_func *func = netdev_priv(netdev);

	netif_start_queue(netdev);
	if (simrnic_is_pf(func))
		simrnic_port_update_links(func->port);
	else
		simrnic_func_update_link(func);
	return 0;
}

static int simrnic_stop(struct net_device *netdev)
{
	struct simrnic_func *func = netdev_priv(netdev);

	netif_stop_queue(netdev);
	if (simrnic_is_pf(func))
		simrnic_port_update_links(func->port);
	else
		simrnic_func_update_link(func);
	return 0;
}

/* Addresses */

/*
 * The PF decides on the VF's promiscuous mode. Without trust the net device keeps the request, and
 * this function ignores it, as firmware does.
 */
static bool simrnic_may_listen(const struct simrnic_func *func)
{
	return !simrnic_is_vf(func) || func->vport->trusted;
}

static void simrnic_set_rx_mode(struct net_device *netdev)
{
	struct simrnic_func *func = netdev_priv(netdev);
	unsigned int count = 1 + netdev_uc_count(netdev) + netdev_mc_count(netdev);
	struct simrnic_filter *filter, *old;
	struct netdev_hw_addr *ha;

	old = rcu_dereference_protected(func->filter, lockdep_is_held(&netdev->addr_list_lock));
	filter = kmalloc(struct_size(filter, addr, count), GFP_ATOMIC);
	if (!filter) {
		netdev_warn_once(netdev,
				 "no memory for address filters, keeping the previous ones\n");
		return;
	}
	filter->all_unicast = netdev->flags & IFF_PROMISC && simrnic_may_listen(func);
	filter->all_multicast =
		netdev->flags & (IFF_PROMISC | IFF_ALLMULTI) && simrnic_may_listen(func);
	filter->count = 0;
	ether_addr_copy(filter->addr[filter->count++], netdev->dev_addr);
	netdev_for_each_uc_addr(ha, netdev)
		ether_addr_copy(filter->addr[filter->count++], ha->addr);
	netdev_for_each_mc_addr(ha, netdev)
		ether_addr_copy(filter->addr[filter->count++], ha->addr);
	rcu_assign_pointer(func->filter, filter);
	if (old)
		kfree_rcu(old, rcu);
}

void simrnic_net_update_filter(struct simrnic_func *func)
{
	netif_addr_lock_bh(func->netdev);
	simrnic_set_rx_mode(func->netdev);
	netif_addr_unlock_bh(func->netdev);
}

static int simrnic_set_mac_address(struct net_device *netdev, void *p)
{
	struct simrnic_func *func = netdev_priv(netdev);
	const struct sockaddr *address = p;
	const u8 *mac = address->sa_data;

	if (!is_valid_ether_addr(mac))
		return -EADDRNOTAVAIL;
	if (simrnic_is_vf(func) && !is_zero_ether_addr(func->vport->mac) && !func->vport->trusted &&
	    !ether_addr_equal(mac, func->vport->mac))
		return -EPERM;
	eth_hw_addr_set(netdev, mac);
	simrnic_net_update_filter(func);
	return 0;
}

/* Net devices */

/*
 * Checksums and scatter-gather as a card would do them: see simrnic_switch_xmit(). If a driver
 * fails here, the features stay as they are, and the kernel only logs it.
 */
static int simrnic_set_features(struct net_device *netdev, netdev_features_t features)
{
	struct simrnic_func *func = netdev_priv(netdev);
	struct simrnic_faults *faults = &func->port->faults;

	if (!faults->features_fail)
		return 0;
	faults->features_fail--;
	return -EIO;
}

static void simrnic_get_stats64(struct net_device *netdev, struct rtnl_link_stats64 *stats)
{
	struct simrnic_func *func = netdev_priv(netdev);

	stats->rx_packets = simrnic_read(func, SIMRNIC_RX_PACKETS);
	stats->rx_bytes = simrnic_read(func, SIMRNIC_RX_BYTES);
	stats->tx_packets = simrnic_read(func, SIMRNIC_TX_PACKETS);
	stats->tx_bytes = simrnic_read(func, SIMRNIC_TX_BYTES);
	stats->multicast = simrnic_read(func, SIMRNIC_RX_MULTICAST);
	stats->rx_dropped = simrnic_read(func, SIMRNIC_RX_DROPPED);
	stats->tx_dropped = simrnic_read(func, SIMRNIC_TX_DROPPED_LINK) +
			    simrnic_read(func, SIMRNIC_TX_DROPPED_SPOOF) +
			    simrnic_read(func, SIMRNIC_TX_DROPPED_VLAN);
}

static int simrnic_get_phys_port_name(struct net_device *netdev, char *name, size_t size)
{
	struct simrnic_func *func = netdev_priv(netdev);

	return snprintf(name, size, "p%u", func->port->index) >= size ? -EINVAL : 0;
}

/* In switchdev mode the PF is the uplink beside the representors. */
static int simrnic_get_port_parent_id(struct net_device *netdev, struct netdev_phys_item_id *id)
{
	const struct simrnic_func *func = netdev_priv(netdev);

	if (!READ_ONCE(func->port->switchdev))
		return -EOPNOTSUPP;
	simrnic_switch_id(func->port, id);
	return 0;
}

static const struct net_device_ops simrnic_pf_netdev_ops = {
	.ndo_open = simrnic_open,
	.ndo_stop = simrnic_stop,
	.ndo_start_xmit = simrnic_switch_xmit,
	.ndo_set_rx_mode = simrnic_set_rx_mode,
	.ndo_set_mac_address = simrnic_set_mac_address,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_set_features = simrnic_set_features,
	.ndo_get_stats64 = simrnic_get_stats64,
	.ndo_get_phys_port_name = simrnic_get_phys_port_name,
	.ndo_get_port_parent_id = simrnic_get_port_parent_id,
	.ndo_set_vf_mac = simrnic_set_vf_mac,
	.ndo_set_vf_vlan = simrnic_set_vf_vlan,
	.ndo_set_vf_rate = simrnic_set_vf_rate,
	.ndo_set_vf_spoofchk = simrnic_set_vf_spoofchk,
	.ndo_set_vf_trust = simrnic_set_vf_trust,
	.ndo_set_vf_link_state = simrnic_set_vf_link_state,
	.ndo_get_vf_config = simrnic_get_vf_config,
	.ndo_get_vf_stats = simrnic_get_vf_stats,
};

static const struct net_device_ops simrnic_vf_netdev_ops = {
	.ndo_open = simrnic_open,
	.ndo_stop = simrnic_stop,
	.ndo_start_xmit = simrnic_switch_xmit,
	.ndo_set_rx_mode = simrnic_set_rx_mode,
	.ndo_set_mac_address = simrnic_set_mac_address,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_set_features = simrnic_set_features,
	.ndo_get_stats64 = simrnic_get_stats64,
};

static void simrnic_setup(struct net_device *netdev)
{
	ether_setup(netdev);
	netdev->ethtool_ops = &simrnic_ethtool_ops;
	netdev->max_mtu = 9978;
	netdev->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_RXCSUM;
	netdev->features = netdev->hw_features;
	/* Secondary unicast addresses, for example of macvlan children, go into the filter. */
	netdev->priv_flags |= IFF_UNICAST_FLT;
	/* The switch writes VLAN tags into the frames that it gets. */
	netdev->priv_flags &= ~IFF_TX_SKB_SHARING;
}

/* A negative vport means the PF. */
struct simrnic_func *simrnic_net_create(struct device *dev, struct simrnic_port *port, int vport)
{
	struct net_device *netdev;
	struct simrnic_func *func;
	u8 mac[ETH_ALEN];
	int err;

	netdev = alloc_netdev(sizeof(*func), "eth%d", NET_NAME_PREDICTABLE, simrnic_setup);
	if (!netdev)
		return ERR_PTR(-ENOMEM);
	func = netdev_priv(netdev);
	func->netdev = netdev;
	func->dev = dev;
	func->pdev = to_pci_dev(dev_is_pci(dev) ? dev : dev->parent);
	func->port = port;
	func->vport = vport < 0 ? &port->pf : &port->vfs[vport];
	SET_NETDEV_DEV(netdev, dev);
	netdev->netdev_ops = vport < 0 ? &simrnic_pf_netdev_ops : &simrnic_vf_netdev_ops;
	if (vport < 0)
		netdev->dcbnl_ops = &simrnic_dcbnl_ops;
	simrnic_func_name(func, "rnic", netdev->name, sizeof(netdev->name));

	rtnl_lock();
	if (is_zero_ether_addr(func->vport->mac))
		simrnic_permanent_mac(func, mac);
	else
		ether_addr_copy(mac, func->vport->mac);
	eth_hw_addr_set(netdev, mac);
	if (READ_ONCE(port->faults.vf_random_mac) && simrnic_is_vf(func) &&
	    is_zero_ether_addr(func->vport->mac))
		eth_hw_addr_random(netdev);
	netif_carrier_off(netdev);
	err = register_netdevice(netdev);
	if (err) {
		rtnl_unlock();
		free_netdev(netdev);
		return ERR_PTR(err);
	}
	simrnic_set_guids(func);
	simrnic_net_update_filter(func);
	rcu_assign_pointer(func->vport->func, func);
	simrnic_func_update_link(func);
	rtnl_unlock();
	return func;
}

void simrnic_net_destroy(struct simrnic_func *func)
{
	rtnl_lock();
	RCU_INIT_POINTER(func->vport->func, NULL);
	simrnic_port_update_links(func->port);
	unregister_netdevice(func->netdev);
	rtnl_unlock();
	/* The switch no longer uses the function, because unregistering waited for its readers. */
	kfree(rcu_dereference_protected(func->filter, true));
	free_netdev(func->netdev);
}
