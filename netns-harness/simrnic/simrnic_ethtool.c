// SPDX-License-Identifier: GPL-2.0
/* ethtool: identity, speed, counters. */
#include <linux/ethtool.h>
#include "simrnic.h"

/* mlx5's names for the counters that mlx5 also has. */
static const char simrnic_counter_names[SIMRNIC_COUNTERS][ETH_GSTRING_LEN] = {
	[SIMRNIC_RX_PACKETS] = "rx_packets",
	[SIMRNIC_RX_BYTES] = "rx_bytes",
	[SIMRNIC_TX_PACKETS] = "tx_packets",
	[SIMRNIC_TX_BYTES] = "tx_bytes",
	[SIMRNIC_RX_MULTICAST] = "rx_vport_multicast_packets",
	[SIMRNIC_RX_BROADCAST] = "rx_vport_broadcast_packets",
	[SIMRNIC_RX_DROPPED] = "rx_dropped",
	[SIMRNIC_TX_DROPPED_LINK] = "tx_link_down_dropped",
	[SIMRNIC_TX_DROPPED_SPOOF] = "tx_spoofchk_dropped",
	[SIMRNIC_TX_DROPPED_VLAN] = "tx_vlan_dropped",
	[SIMRNIC_RX_RDMA_PACKETS] = "rx_vport_rdma_unicast_packets",
	[SIMRNIC_RX_RDMA_BYTES] = "rx_vport_rdma_unicast_bytes",
	[SIMRNIC_TX_RDMA_PACKETS] = "tx_vport_rdma_unicast_packets",
	[SIMRNIC_TX_RDMA_BYTES] = "tx_vport_rdma_unicast_bytes",
	[SIMRNIC_RX_WRITE_REQUESTS] = "rx_vport_rdma_write_requests",
	[SIMRNIC_RX_READ_REQUESTS] = "rx_vport_rdma_read_requests",
	[SIMRNIC_OUT_OF_SEQUENCE] = "rx_rdma_out_of_sequence",
	[SIMRNIC_DUPLICATE_REQUEST] = "rx_rdma_duplicate_request",
	[SIMRNIC_OUT_OF_BUFFER] = "rx_rdma_out_of_buffer",
	[SIMRNIC_PACKET_SEQ_ERR] = "tx_rdma_packet_seq_err",
	[SIMRNIC_IMPLIED_NAK_SEQ_ERR] = "tx_rdma_implied_nak_seq_err",
	[SIMRNIC_LOCAL_ACK_TIMEOUT_ERR] = "tx_rdma_local_ack_timeout_err",
	[SIMRNIC_RNR_NAK_RETRY_ERR] = "tx_rdma_rnr_nak_retry_err",
	[SIMRNIC_ECN_MARKED] = "rx_rdma_ecn_marked",
	[SIMRNIC_CNP_SENT] = "tx_rdma_cnp",
	[SIMRNIC_CNP_HANDLED] = "rx_rdma_cnp",
};

static void simrnic_get_drvinfo(struct net_device *netdev, struct ethtool_drvinfo *info)
{
	struct simrnic_func *func = netdev_priv(netdev);

	strscpy(info->driver, "simrnic", sizeof(info->driver));
	strscpy(info->fw_version, "1.0.0", sizeof(info->fw_version));
	strscpy(info->bus_info, dev_name(func->dev), sizeof(info->bus_info));
}

static int simrnic_get_link_ksettings(struct net_device *netdev,
				      struct ethtool_link_ksettings *settings)
{
	ethtool_link_ksettings_zero_link_mode(settings, supported);
	ethtool_link_ksettings_zero_link_mode(settings, advertising);
	ethtool_link_ksettings_add_link_mode(settings, supported, 100000baseCR4_Full);
	ethtool_link_ksettings_add_link_mode(settings, advertising, 100000baseCR4_Full);
	settings->base.port = PORT_DA;
	settings->base.autoneg = AUTONEG_DISABLE;
	settings->base.speed = netif_carrier_ok(netdev) ? SPEED_100000 : SPEED_UNKNOWN;
	settings->base.duplex = netif_carrier_ok(netdev) ? DUPLEX_FULL : DUPLEX_UNKNOWN;
	return 0;
}

static int simrnic_get_sset_count(struct net_device *netdev, int set)
{
	if (set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	return SIMRNIC_COUNTERS + (simrnic_is_pf(netdev_priv(netdev)) ? SIMRNIC_PAUSE_COUNTERS : 0);
}

static void simrnic_get_strings(struct net_device *netdev, u32 set, u8 *data)
{
	if (set != ETH_SS_STATS)
		return;
	memcpy(data, simrnic_counter_names, sizeof(simrnic_counter_names));
	if (simrnic_is_pf(netdev_priv(netdev)))
		memcpy(data + sizeof(simrnic_counter_names), simrnic_pause_names,
		       sizeof(simrnic_pause_names));
}

static void simrnic_get_ethtool_stats(struct net_device *netdev, struct ethtool_stats *stats,
				      u64 *data)
{
	struct simrnic_func *func = netdev_priv(netdev);
	int i;

	for (i = 0; i < SIMRNIC_COUNTERS; i++)
		data[i] = simrnic_read(func, i);
	if (simrnic_is_pf(func))
		simrnic_pause_read(func->port, data + SIMRNIC_COUNTERS);
}

const struct ethtool_ops simrnic_ethtool_ops = {
	.get_drvinfo = simrnic_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = simrnic_get_link_ksettings,
	.get_pauseparam = simrnic_get_pauseparam,
	.set_pauseparam = simrnic_set_pauseparam,
	.get_sset_count = simrnic_get_sset_count,
	.get_strings = simrnic_get_strings,
	.get_ethtool_stats = simrnic_get_ethtool_stats,
};
