// SPDX-License-Identifier: GPL-2.0
/* Administration of VFs through the PF. */
#include <linux/delay.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/rtnetlink.h>
#include "simrnic.h"
#include "simrnic_compat.h"

/*
 * Every such call passes through here, so that faults can affect it. The delay holds RTNL, as a
 * real driver does while it waits for its firmware. NULL means that the call succeeds without
 * effect.
 */
struct simrnic_vport *simrnic_admin(struct simrnic_func *pf, int vf)
{
	struct simrnic_faults *faults = &pf->port->faults;

	if (vf < 0 || vf >= pci_num_vf(pf->pdev))
		return ERR_PTR(-EINVAL);
	if (faults->vf_call_delay_ms)
		msleep(faults->vf_call_delay_ms);
	if (faults->vf_call_skip) {
		faults->vf_call_skip--;
	} else if (faults->vf_call_fail) {
		faults->vf_call_fail--;
		return ERR_PTR(-clamp_t(int, faults->vf_call_errno, 1, MAX_ERRNO));
	} else if (faults->vf_call_ignore) {
		faults->vf_call_ignore--;
		return NULL;
	}
	return &pf->port->vfs[vf];
}

/* A running VF uses the address at once, as VFs of Intel's NICs do after a reset. */
int simrnic_set_vf_mac(struct net_device *netdev, int vf, u8 *mac)
{
	struct simrnic_vport *vport;
	struct simrnic_func *func;
	struct sockaddr_storage address = { .ss_family = ARPHRD_ETHER };

	if (is_multicast_ether_addr(mac))
		return -EINVAL;
	vport = simrnic_admin(netdev_priv(netdev), vf);
	if (IS_ERR_OR_NULL(vport))
		return PTR_ERR(vport);
	ether_addr_copy(vport->mac, mac);
	func = rtnl_dereference(vport->func);
	if (!func || is_zero_ether_addr(mac))
		return 0;
	ether_addr_copy(address.__data, mac);
	return dev_set_mac_address(func->netdev, &address, NULL);
}

int simrnic_set_vf_vlan(struct net_device *netdev, int vf, u16 vlan, u8 qos, __be16 proto)
{
	struct simrnic_func *pf = netdev_priv(netdev);
	struct simrnic_vport *vport;

	if (vlan >= VLAN_N_VID || qos > 7)
		return -EINVAL;
	if (!eth_type_vlan(proto))
		return -EPROTONOSUPPORT;
	vport = simrnic_admin(pf, vf);
	if (IS_ERR_OR_NULL(vport))
		return PTR_ERR(vport);
	/* As with mlx5: in switchdev mode the representor's switch handles tags. */
	if (vlan && READ_ONCE(pf->port->switchdev))
		return -EOPNOTSUPP;
	WRITE_ONCE(vport->vlan_proto, proto);
	WRITE_ONCE(vport->qos, qos);
	WRITE_ONCE(vport->vlan, vlan);
	return 0;
}

int simrnic_set_vf_rate(struct net_device *netdev, int vf, int min_tx_rate, int max_tx_rate)
{
	struct simrnic_vport *vport;

	if (min_tx_rate < 0 || max_tx_rate < 0 || (max_tx_rate && min_tx_rate > max_tx_rate))
		return -EINVAL;
	vport = simrnic_admin(netdev_priv(netdev), vf);
	if (IS_ERR_OR_NULL(vport))
		return PTR_ERR(vport);
	vport->min_tx_rate = min_tx_rate;
	vport->max_tx_rate = max_tx_rate;
	return 0;
}

int simrnic_set_vf_spoofchk(struct net_device *netdev, int vf, bool setting)
{
	struct simrnic_vport *vport = simrnic_admin(netdev_priv(netdev), vf);

	if (IS_ERR_OR_NULL(vport))
		return PTR_ERR(vport);
	WRITE_ONCE(vport->spoofchk, setting);
	return 0;
}

int simrnic_set_vf_trust(struct net_device *netdev, int vf, bool setting)
{
	struct simrnic_vport *vport = simrnic_admin(netdev_priv(netdev), vf);
	struct simrnic_func *func;

	if (IS_ERR_OR_NULL(vport))
		return PTR_ERR(vport);
	vport->trusted = setting;
	func = rtnl_dereference(vport->func);
	if (func)
		simrnic_net_update_filter(func);
	return 0;
}

int simrnic_admin_link_state(struct simrnic_func *pf, int vf, int state)
{
	struct simrnic_vport *vport;
	struct simrnic_func *func;

	if (state < IFLA_VF_LINK_STATE_AUTO || state > IFLA_VF_LINK_STATE_DISABLE)
		return -EINVAL;
	vport = simrnic_admin(pf, vf);
	if (IS_ERR_OR_NULL(vport))
		return PTR_ERR(vport);
	vport->link_state = state;
	func = rtnl_dereference(vport->func);
	if (func)
		simrnic_func_update_link(func);
	return 0;
}

int simrnic_set_vf_link_state(struct net_device *netdev, int vf, int state)
{
	return simrnic_admin_link_state(netdev_priv(netdev), vf, state);
}

int simrnic_get_vf_config(struct net_device *netdev, int vf, struct ifla_vf_info *info)
{
	struct simrnic_func *func = netdev_priv(netdev);
	const struct simrnic_vport *vport;

	if (vf < 0 || vf >= pci_num_vf(func->pdev))
		return -EINVAL;
	vport = &func->port->vfs[vf];
	info->vf = vf;
	ether_addr_copy(info->mac, vport->mac);
	if (READ_ONCE(func->port->faults.vf_untold))
		return 0;
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

int simrnic_get_vf_stats(struct net_device *netdev, int vf, struct ifla_vf_stats *stats)
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
