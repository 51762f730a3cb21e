// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of flow control, with mlx5's names. Nothing is paused: debugfs sets how fast they grow.
 *
 *   echo 40 >/sys/kernel/debug/simrnic/rnic0p0/paused_percent
 */
#include <linux/debugfs.h>
#include <linux/math64.h>
#include <linux/rtnetlink.h>
#include <linux/timekeeping.h>
#include "simrnic.h"

#define SIMRNIC_US_OF_PERCENT 10000 /* in a second */
#define SIMRNIC_US_OF_FRAME   100   /* how long a frame pauses */

const char simrnic_pause_names[SIMRNIC_PAUSE_COUNTERS][ETH_GSTRING_LEN] = {
	"rx_prio3_pause",	   "rx_prio3_pause_duration",	    "tx_prio3_pause",
	"tx_prio3_pause_duration", "tx_pause_storm_warning_events", "tx_pause_storm_error_events",
	"rx_discards_phy",
};

static u64 simrnic_growth_read(const struct simrnic_growth *growth)
{
	u64 elapsed = ktime_get_ns() - growth->since_ns;

	return growth->count + mul_u64_u64_div_u64(elapsed, growth->per_second, NSEC_PER_SEC);
}

static void simrnic_growth_set(struct simrnic_growth *growth, u64 per_second)
{
	rtnl_lock();
	growth->count = simrnic_growth_read(growth);
	growth->since_ns = ktime_get_ns();
	growth->per_second = per_second;
	rtnl_unlock();
}

void simrnic_pause_read(const struct simrnic_port *port, u64 *values)
{
	u64 received_us = simrnic_growth_read(&port->pause.received_us);
	u64 sent_us = simrnic_growth_read(&port->pause.sent_us);

	*values++ = div_u64(received_us, SIMRNIC_US_OF_FRAME);
	*values++ = received_us;
	*values++ = div_u64(sent_us, SIMRNIC_US_OF_FRAME);
	*values++ = sent_us;
	*values++ = simrnic_growth_read(&port->pause.storms);
	*values++ = 0;
	*values = simrnic_growth_read(&port->pause.discards);
}

static int simrnic_percent_get(void *data, u64 *value)
{
	const struct simrnic_growth *growth = data;

	*value = div_u64(growth->per_second, SIMRNIC_US_OF_PERCENT);
	return 0;
}

static int simrnic_percent_set(void *data, u64 value)
{
	if (value > 100)
		return -EINVAL;
	simrnic_growth_set(data, value * SIMRNIC_US_OF_PERCENT);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(simrnic_percent_fops, simrnic_percent_get, simrnic_percent_set, "%llu\n");

static int simrnic_rate_get(void *data, u64 *value)
{
	const struct simrnic_growth *growth = data;

	*value = growth->per_second;
	return 0;
}

static int simrnic_rate_set(void *data, u64 value)
{
	simrnic_growth_set(data, value);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(simrnic_rate_fops, simrnic_rate_get, simrnic_rate_set, "%llu\n");

void simrnic_pause_debugfs(struct simrnic_port *port)
{
	struct simrnic_pause *pause = &port->pause;

	debugfs_create_file_unsafe("paused_percent", 0600, port->debugfs, &pause->received_us,
				   &simrnic_percent_fops);
	debugfs_create_file_unsafe("pausing_percent", 0600, port->debugfs, &pause->sent_us,
				   &simrnic_percent_fops);
	debugfs_create_file_unsafe("storms_per_second", 0600, port->debugfs, &pause->storms,
				   &simrnic_rate_fops);
	debugfs_create_file_unsafe("discards_per_second", 0600, port->debugfs, &pause->discards,
				   &simrnic_rate_fops);
}
