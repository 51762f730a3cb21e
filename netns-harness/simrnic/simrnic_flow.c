// SPDX-License-Identifier: GPL-2.0
/*
 * Flow control of Ethernet ports. A port keeps the settings, as firmware does, also without its
 * driver. Nothing is paused.
 *
 *   dcb pfc set dev rnic0p0 prio-pfc 3:on
 *   dcb buffer set dev rnic0p0 prio-buffer all:0
 *   ethtool -A rnic0p0 rx on tx on
 */
#include <linux/ethtool.h>
#include <net/dcbnl.h>
#include "simrnic.h"

#define SIMRNIC_BUFFER_BYTES (256 << 10)

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
	func->port->has_buffers = false;
	return 0;
}

/* As firmware does by itself: buffer 1 is for the priorities with PFC. */
static void simrnic_choose_buffers(const struct simrnic_port *port, struct dcbnl_buffer *buffer)
{
	int priority;

	for (priority = 0; priority < IEEE_8021Q_MAX_PRIORITIES; priority++)
		buffer->prio2buffer[priority] = port->pfc >> priority & 1;
	buffer->buffer_size[0] = SIMRNIC_BUFFER_BYTES / 2;
	buffer->buffer_size[1] = SIMRNIC_BUFFER_BYTES / 2;
}

static int simrnic_getbuffer(struct net_device *netdev, struct dcbnl_buffer *buffer)
{
	const struct simrnic_func *func = netdev_priv(netdev);
	const struct simrnic_port *port = func->port;

	buffer->total_size = SIMRNIC_BUFFER_BYTES;
	if (port->has_buffers) {
		memcpy(buffer->prio2buffer, port->buffer_of, sizeof(port->buffer_of));
		memcpy(buffer->buffer_size, port->buffer_size, sizeof(port->buffer_size));
	} else {
		simrnic_choose_buffers(port, buffer);
	}
	return 0;
}

static int simrnic_setbuffer(struct net_device *netdev, struct dcbnl_buffer *buffer)
{
	struct simrnic_func *func = netdev_priv(netdev);
	struct simrnic_port *port = func->port;

	memcpy(port->buffer_of, buffer->prio2buffer, sizeof(port->buffer_of));
	memcpy(port->buffer_size, buffer->buffer_size, sizeof(port->buffer_size));
	port->has_buffers = true;
	return 0;
}

/* For PFs only, as with mlx5. */
const struct dcbnl_rtnl_ops simrnic_dcbnl_ops = {
	.ieee_getpfc = simrnic_getpfc,
	.ieee_setpfc = simrnic_setpfc,
	.dcbnl_getbuffer = simrnic_getbuffer,
	.dcbnl_setbuffer = simrnic_setbuffer,
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
