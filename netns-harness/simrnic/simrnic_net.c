// SPDX-License-Identifier: GPL-2.0
/* Net devices of PFs and VFs, VF administration, and links. */
#include <linux/delay.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include "simrnic.h"

void simrnic_func_name(const struct simrnic_func *func, const char *prefix, char *name, size_t size)
{
	unsigned int nic = func->port->nic->index;
	unsigned int port = func->port->index;

	if (simrnic_is_vf(func))
		snprintf(name, size, "%s%up%uv%d", prefix, nic, port, simrnic_vf_index(func));
	else
		snprintf(name, size, "%s%up%u", prefix, nic, port);
}

/* Burned in: the same after every boot and every re-creation of the VFs. */
static void simrnic_permanent_mac(const struct simrnic_func *func, u8 *mac)
{
	unsigned int function = simrnic_is_vf(func) ? simrnic_vf_index(func) + 1 : 0;

	mac[0] = 0x02; /* locally administered */
	mac[1] = 0x52;
	mac[2] = func->port->nic->index;
	mac[3] = func->port->index;
	mac[4] = function >> 8;
	mac[5] = function;
}

void simrnic_vport_reset(struct simrnic_vport *vport)
{
	eth_zero_addr(vport->mac);
	vport->vlan = 0;
	vport->qos = 0;
	vport->vlan_proto = htons(ETH_P_8021Q);
	vport->spoofchk = false;
	vport->trusted = false;
	vport->link_state = IFLA_VF_LINK_STATE_AUTO;
	vport->min_tx_rate = 0;
	vport->max_tx_rate = 0;
}

/* Links */

/* Is the port's link to the wire up? As on other NICs, bringing the PF down turns it off. */
bool simrnic_port_link(const struct simrnic_port *port)
{
	const struct simrnic_func *pf = rcu_dereference_rtnl(port->pf.func);

	return READ_ONCE(port->cable) && pf && netif_running(pf->netdev);
}

static bool simrnic_func_link(const struct simrnic_func *func)
{
	switch (func->vport->link_state) {
	case IFLA_VF_LINK_STATE_ENABLE:
		return true;
	case IFLA_VF_LINK_STATE_DISABLE:
		return false;
	default:
		return simrnic_port_link(func->port);
	}
}

static void simrnic_func_update_link(struct simrnic_func *func)
{
	if (simrnic_func_link(func))
		netif_carrier_on(func->netdev);
	else
		netif_carrier_off(func->netdev);
	simrnic_rdma_update_link(func);
}

void simrnic_port_update_links(struct simrnic_port *port)
{
	struct simrnic_func *func = rtnl_dereference(port->pf.func);
	unsigned int vf;

	if (func)
		simrnic_func_update_link(func);
	for (vf = 0; vf < simrnic_vfs; vf++) {
		func = rtnl_dereference(port->vfs[vf].func);
		if (func)
			simrnic_func_update_link(func);
	}
}

static int simrnic_open(struct net_device *netdev)
{
	struct simrnic_func *func = netdev_priv(netdev);

	netif_start_queue(netdev);
	if (simrnic_is_vf(func))
		simrnic_func_update_link(func);
	else
		simrnic_port_update_links(func->port);
	return 0;
}

static int simrnic_stop(struct net_device *netdev)
{
	struct simrnic_func *func = netdev_priv(netdev);

	netif_stop_queue(netdev);
	if (simrnic_is_vf(func))
		simrnic_func_update_link(func);
	else
		simrnic_port_update_links(func->port);
	return 0;
}

/* Addresses */

/*
 * The VF's promiscuous mode is the PF's decision: without trust the request is remembered by the
 * net device and ignored here, which is what firmware does.
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

/* VF administration */

/*
 * Every such call comes through here, for the sake of the faults. The delay is spent under RTNL,
 * where a real driver waits for its firmware.
 */
static struct simrnic_vport *simrnic_admin(struct net_device *netdev, int vf)
{
	struct simrnic_func *func = netdev_priv(netdev);
	struct simrnic_faults *faults = &func->port->faults;

	if (vf < 0 || vf >= pci_num_vf(func->pdev))
		return ERR_PTR(-EINVAL);
	if (faults->vf_call_delay_ms)
		msleep(faults->vf_call_delay_ms);
	if (faults->vf_call_skip) {
		faults->vf_call_skip--;
	} else if (faults->vf_call_fail) {
		faults->vf_call_fail--;
		return ERR_PTR(-clamp_t(int, faults->vf_call_errno, 1, MAX_ERRNO));
	}
	return &func->port->vfs[vf];
}

/* The running VF takes the address at once, as those of Intel's NICs do after a reset. */
static int simrnic_set_vf_mac(struct net_device *netdev, int vf, u8 *mac)
{
	struct simrnic_vport *vport;
	struct simrnic_func *func;
	struct sockaddr address = { .sa_family = ARPHRD_ETHER };

	if (is_multicast_ether_addr(mac))
		return -EINVAL;
	vport = simrnic_admin(netdev, vf);
	if (IS_ERR(vport))
		return PTR_ERR(vport);
	ether_addr_copy(vport->mac, mac);
	func = rtnl_dereference(vport->func);
	if (!func || is_zero_ether_addr(mac))
		return 0;
	ether_addr_copy(address.sa_data, mac);
	return dev_set_mac_address(func->netdev, &address, NULL);
}

static int simrnic_set_vf_vlan(struct net_device *netdev, int vf, u16 vlan, u8 qos, __be16 proto)
{
	struct simrnic_vport *vport;

	if (vlan >= VLAN_N_VID || qos > 7)
		return -EINVAL;
	if (!eth_type_vlan(proto))
		return -EPROTONOSUPPORT;
	vport = simrnic_admin(netdev, vf);
	if (IS_ERR(vport))
		return PTR_ERR(vport);
	WRITE_ONCE(vport->vlan_proto, proto);
	WRITE_ONCE(vport->qos, qos);
	WRITE_ONCE(vport->vlan, vlan);
	return 0;
}

static int simrnic_set_vf_rate(struct net_device *netdev, int vf, int min_tx_rate, int max_tx_rate)
{
	struct simrnic_vport *vport;

	if (min_tx_rate < 0 || max_tx_rate < 0 || (max_tx_rate && min_tx_rate > max_tx_rate))
		return -EINVAL;
	vport = simrnic_admin(netdev, vf);
	if (IS_ERR(vport))
		return PTR_ERR(vport);
	vport->min_tx_rate = min_tx_rate;
	vport->max_tx_rate = max_tx_rate;
	return 0;
}

static int simrnic_set_vf_spoofchk(struct net_device *netdev, int vf, bool setting)
{
	struct simrnic_vport *vport = simrnic_admin(netdev, vf);

	if (IS_ERR(vport))
		return PTR_ERR(vport);
	WRITE_ONCE(vport->spoofchk, setting);
	return 0;
}

static int simrnic_set_vf_trust(struct net_device *netdev, int vf, bool setting)
{
	struct simrnic_vport *vport = simrnic_admin(netdev, vf);
	struct simrnic_func *func;

	if (IS_ERR(vport))
		return PTR_ERR(vport);
	vport->trusted = setting;
	func = rtnl_dereference(vport->func);
	if (func)
		simrnic_net_update_filter(func);
	return 0;
}

static int simrnic_set_vf_link_state(struct net_device *netdev, int vf, int state)
{
	struct simrnic_vport *vport;
	struct simrnic_func *func;

	if (state < IFLA_VF_LINK_STATE_AUTO || state > IFLA_VF_LINK_STATE_DISABLE)
		return -EINVAL;
	vport = simrnic_admin(netdev, vf);
	if (IS_ERR(vport))
		return PTR_ERR(vport);
	vport->link_state = state;
	func = rtnl_dereference(vport->func);
	if (func)
		simrnic_func_update_link(func);
	return 0;
}

static int simrnic_get_vf_config(struct net_device *netdev, int vf, struct ifla_vf_info *info)
{
	struct simrnic_func *func = netdev_priv(netdev);
	const struct simrnic_vport *vport;

	if (vf < 0 || vf >= pci_num_vf(func->pdev))
		return -EINVAL;
	vport = &func->port->vfs[vf];
	info->vf = vf;
	ether_addr_copy(info->mac, vport->mac);
	info->vlan = vport->vlan;
	info->qos = vport->qos;
	info->vlan_proto = vport->vlan_proto;
	info->spoofchk = vport->spoofchk;
	info->trusted = vport->trusted;
	info->linkstate = vport->link_state;
	info->min_tx_rate = vport->min_tx_rate;
	info->max_tx_rate = vport->max_tx_rate;
	return 0;
}

static int simrnic_get_vf_stats(struct net_device *netdev, int vf, struct ifla_vf_stats *stats)
{
	struct simrnic_func *func = netdev_priv(netdev);

	if (vf < 0 || vf >= pci_num_vf(func->pdev))
		return -EINVAL;
	memset(stats, 0, sizeof(*stats));
	func = rtnl_dereference(func->port->vfs[vf].func);
	if (!func)
		return 0;
	stats->rx_packets = simrnic_read(func, SIMRNIC_RX_PACKETS);
	stats->rx_bytes = simrnic_read(func, SIMRNIC_RX_BYTES);
	stats->tx_packets = simrnic_read(func, SIMRNIC_TX_PACKETS);
	stats->tx_bytes = simrnic_read(func, SIMRNIC_TX_BYTES);
	stats->multicast = simrnic_read(func, SIMRNIC_RX_MULTICAST);
	stats->broadcast = simrnic_read(func, SIMRNIC_RX_BROADCAST);
	stats->rx_dropped = simrnic_read(func, SIMRNIC_RX_DROPPED);
	stats->tx_dropped = simrnic_read(func, SIMRNIC_TX_DROPPED_SPOOF) +
			    simrnic_read(func, SIMRNIC_TX_DROPPED_VLAN);
	return 0;
}

/* Net devices */

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

static const struct net_device_ops simrnic_pf_netdev_ops = {
	.ndo_open = simrnic_open,
	.ndo_stop = simrnic_stop,
	.ndo_start_xmit = simrnic_switch_xmit,
	.ndo_set_rx_mode = simrnic_set_rx_mode,
	.ndo_set_mac_address = simrnic_set_mac_address,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_get_stats64 = simrnic_get_stats64,
	.ndo_get_phys_port_name = simrnic_get_phys_port_name,
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
	.ndo_get_stats64 = simrnic_get_stats64,
};

static void simrnic_setup(struct net_device *netdev)
{
	ether_setup(netdev);
	netdev->ethtool_ops = &simrnic_ethtool_ops;
	netdev->max_mtu = 9978;
	/* Secondary unicast addresses, of macvlan children for instance, go into the filter. */
	netdev->priv_flags |= IFF_UNICAST_FLT;
	/* The switch writes VLAN tags into the frames it is given. */
	netdev->priv_flags &= ~IFF_TX_SKB_SHARING;
}

struct simrnic_func *simrnic_net_create(struct pci_dev *pdev, struct simrnic_port *port, int vf)
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
	func->pdev = pdev;
	func->port = port;
	func->vport = vf < 0 ? &port->pf : &port->vfs[vf];
	SET_NETDEV_DEV(netdev, &pdev->dev);
	netdev->netdev_ops = vf < 0 ? &simrnic_pf_netdev_ops : &simrnic_vf_netdev_ops;
	simrnic_func_name(func, "rnic", netdev->name, sizeof(netdev->name));

	rtnl_lock();
	if (is_zero_ether_addr(func->vport->mac))
		simrnic_permanent_mac(func, mac);
	else
		ether_addr_copy(mac, func->vport->mac);
	eth_hw_addr_set(netdev, mac);
	netif_carrier_off(netdev);
	err = register_netdevice(netdev);
	if (err) {
		rtnl_unlock();
		free_netdev(netdev);
		return ERR_PTR(err);
	}
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
	/* The switch has let go of the function: unregistering waited for its readers. */
	kfree(rcu_dereference_protected(func->filter, true));
	free_netdev(func->netdev);
}
