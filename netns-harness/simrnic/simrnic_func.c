// SPDX-License-Identifier: GPL-2.0
/* Functions, PFs and VFs: names, identities, links. */
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include "simrnic.h"

#define SIMRNIC_SF_MACS 0x8000 /* added to the last two bytes of their MAC addresses */

void simrnic_func_name(const struct simrnic_func *func, const char *prefix, char *name, size_t size)
{
	unsigned int nic = func->port->nic->index;
	unsigned int port = func->port->index;

	if (simrnic_is_pf(func))
		snprintf(name, size, "%s%up%u", prefix, nic, port);
	else if (simrnic_is_vf(func))
		snprintf(name, size, "%s%up%uv%d", prefix, nic, port, simrnic_vport_index(func));
	else
		snprintf(name, size, "%s%up%us%d", prefix, nic, port, simrnic_sf_index(func));
}

/* The MAC is the same after every boot and whenever the VFs are created again. */
void simrnic_permanent_mac(const struct simrnic_func *func, u8 *mac)
{
	unsigned int function = 0;

	if (simrnic_is_vf(func))
		function = simrnic_vport_index(func) + 1;
	else if (!simrnic_is_pf(func))
		function = SIMRNIC_SF_MACS + simrnic_sf_index(func);
	mac[0] = 0x02; /* locally administered */
	mac[1] = 0x52;
	mac[2] = func->port->nic->index;
	mac[3] = func->port->index;
	mac[4] = function >> 8;
	mac[5] = function;
}

/* Called when a function's driver starts. Later changes take effect at its next start. */
void simrnic_set_guids(struct simrnic_func *func)
{
	const struct simrnic_vport *vport = func->vport;
	u8 mac[ETH_ALEN];

	if (func->netdev)
		ether_addr_copy(mac, func->netdev->dev_addr);
	else
		simrnic_permanent_mac(func, mac);
	/* An mlx5 VF has no node GUID unless the PF has set its MAC address. */
	if (READ_ONCE(func->port->faults.vf_no_guid) && func->netdev && simrnic_is_vf(func) &&
	    is_zero_ether_addr(vport->mac))
		func->node_guid = 0;
	else
		addrconf_addr_eui48((u8 *)&func->node_guid, mac);
	func->port_guid = func->node_guid;
	if (vport->node_guid)
		func->node_guid = cpu_to_be64(vport->node_guid);
	if (vport->port_guid)
		func->port_guid = cpu_to_be64(vport->port_guid);
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
	vport->node_guid = 0;
	vport->port_guid = 0;
	vport->residue = 0;
	vport->resets = 0;
	vport->resets_under_driver = 0;
}

/*
 * Whether the port's link to the wire is up. As on other NICs, setting an Ethernet PF down turns
 * the link off. For InfiniBand only unbinding the PF's driver does.
 */
bool simrnic_port_link(const struct simrnic_port *port)
{
	const struct simrnic_func *pf = rcu_dereference_rtnl(port->pf.func);

	return READ_ONCE(port->cable) && pf && (!pf->netdev || netif_running(pf->netdev));
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

void simrnic_func_update_link(struct simrnic_func *func)
{
	bool link = simrnic_func_link(func);

	if (!func->netdev)
		WRITE_ONCE(func->link, link);
	else if (link)
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
	for (vf = 0; vf < simrnic_vports(); vf++) {
		func = rtnl_dereference(port->vfs[vf].func);
		if (func)
			simrnic_func_update_link(func);
	}
}
