// SPDX-License-Identifier: GPL-2.0
/*
 * Flow control of Ethernet ports. A port keeps the settings, as firmware does, also without its
 * driver. Nothing is paused.
 *
 *   dcb pfc set dev rnic0p0 prio-pfc 3:on
 *   ethtool -A rnic0p0 rx on tx on
 */
#include <linux/ethtool.h>
#include <net/dcbnl.h>
#include "simrnic.h"

static int simrnic_getpfc(struct net_device *netdev, struct ieee_pfc *pfc)
{
	const struct simrnic_func *func = netdev_priv(netdev);

	pfc->pfc_cap = IEEE_8021QAZ_MAX_TCS;
	pfc->pfc_en = func->port->pfc;
	return 0;
}

static int simrnic_setpfc(struct net_device *netdev, struct ieee_pfc *pfc)
{
	struct simrnic_func *func = netdev_priv(netdev);

	func->port->pfc = pfc->pfc_en;
	return 0;
}

/* For PFs only, as with mlx5. */
const struct dcbnl_rtnl_ops simrnic_dcbnl_ops = {
	.ieee_getpfc = simrnic_getpfc,
	.ieee_setpfc = simrnic_setpfc,
};

void simrnic_get_pauseparam(struct net_device *netdev, struct ethtool_pauseparam *pause)
{
	const struct simrnic_func *func = netdev_priv(netdev);

	pause->rx_pause = func->port->rx_pause;
	pause->tx_pause = func->port->tx_pause;
}

int simrnic_set_pauseparam(struct net_device *netdev, struct ethtool_pauseparam *pause)
{
	struct simrnic_func *func = netdev_priv(netdev);

	if (pause->autoneg)
		return -EINVAL;
	if (!simrnic_is_pf(func))
		return -EOPNOTSUPP;
	func->port->rx_pause = pause->rx_pause;
	func->port->tx_pause = pause->tx_pause;
	return 0;
}
