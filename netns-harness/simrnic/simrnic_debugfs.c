// SPDX-License-Identifier: GPL-2.0
/* Switches for cables, subnet managers and faults: /sys/kernel/debug/simrnic/PF/... */
#include <linux/debugfs.h>
#include <linux/rtnetlink.h>
#include "simrnic.h"

static struct dentry *simrnic_debugfs_root;

static int simrnic_cable_get(void *data, u64 *value)
{
	struct simrnic_port *port = data;

	*value = READ_ONCE(port->cable);
	return 0;
}

static int simrnic_cable_set(void *data, u64 value)
{
	struct simrnic_port *port = data;

	rtnl_lock();
	WRITE_ONCE(port->cable, !!value);
	simrnic_port_update_links(port);
	rtnl_unlock();
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(simrnic_cable_fops, simrnic_cable_get, simrnic_cable_set, "%llu\n");

static int simrnic_managed_get(void *data, u64 *value)
{
	struct simrnic_port *port = data;

	*value = READ_ONCE(port->managed);
	return 0;
}

static int simrnic_managed_set(void *data, u64 value)
{
	struct simrnic_port *port = data;

	rtnl_lock();
	WRITE_ONCE(port->managed, !!value);
	simrnic_port_update_links(port);
	rtnl_unlock();
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(simrnic_managed_fops, simrnic_managed_get, simrnic_managed_set, "%llu\n");

static void simrnic_debugfs_add_function(struct simrnic_port *port, const char *name,
					 struct simrnic_vport *vport)
{
	struct dentry *directory = debugfs_create_dir(name, port->debugfs);

	debugfs_create_u32("residue", 0600, directory, &vport->residue);
	debugfs_create_u32("resets", 0400, directory, &vport->resets);
	debugfs_create_u32("resets_under_driver", 0400, directory, &vport->resets_under_driver);
}

void simrnic_debugfs_add_port(struct simrnic_port *port)
{
	struct simrnic_faults *faults = &port->faults;
	char name[IFNAMSIZ];
	unsigned int vf;

	snprintf(name, sizeof(name), "rnic%up%u", port->nic->index, port->index);
	port->debugfs = debugfs_create_dir(name, simrnic_debugfs_root);
	debugfs_create_file_unsafe("cable", 0600, port->debugfs, port, &simrnic_cable_fops);
	if (port->nic->infiniband)
		debugfs_create_file_unsafe("subnet_manager", 0600, port->debugfs, port,
					   &simrnic_managed_fops);
	debugfs_create_u32("vf_call_skip", 0600, port->debugfs, &faults->vf_call_skip);
	debugfs_create_u32("vf_call_fail", 0600, port->debugfs, &faults->vf_call_fail);
	debugfs_create_u32("vf_call_errno", 0600, port->debugfs, &faults->vf_call_errno);
	debugfs_create_u32("vf_call_ignore", 0600, port->debugfs, &faults->vf_call_ignore);
	debugfs_create_u32("vf_call_delay_ms", 0600, port->debugfs, &faults->vf_call_delay_ms);
	debugfs_create_u32("vf_no_guid", 0600, port->debugfs, &faults->vf_no_guid);
	debugfs_create_bool("vf_random_mac", 0600, port->debugfs, &faults->vf_random_mac);
	debugfs_create_bool("vf_no_flr", 0600, port->debugfs, &faults->vf_no_flr);
	debugfs_create_bool("vf_untold", 0600, port->debugfs, &faults->vf_untold);
	debugfs_create_u32("vf_probe_delay_ms", 0600, port->debugfs, &faults->vf_probe_delay_ms);
	debugfs_create_u32("vf_devices_delay_ms", 0600, port->debugfs,
			   &faults->vf_devices_delay_ms);
	debugfs_create_u32("rdma_move_delay_ms", 0600, port->debugfs, &faults->rdma_move_delay_ms);
	debugfs_create_u32("features_fail", 0600, port->debugfs, &faults->features_fail);
	debugfs_create_u32("rdma_lose_every", 0600, port->debugfs, &faults->rdma_lose_every);
	debugfs_create_u32("rdma_reorder_every", 0600, port->debugfs, &faults->rdma_reorder_every);
	debugfs_create_u32("rdma_mark_every", 0600, port->debugfs, &faults->rdma_mark_every);
	debugfs_create_u32("rdma_delay_ms", 0600, port->debugfs, &faults->rdma_delay_ms);
	debugfs_create_u64("out_of_sequence", 0600, port->debugfs, &port->out_of_sequence);
	simrnic_pause_debugfs(port);
	faults->vf_call_errno = EIO;
	simrnic_debugfs_add_function(port, "pf", &port->pf);
	for (vf = 0; vf < simrnic_vfs; vf++) {
		snprintf(name, sizeof(name), "vf%u", vf);
		simrnic_debugfs_add_function(port, name, &port->vfs[vf]);
	}
}

void simrnic_debugfs_create(void)
{
	simrnic_debugfs_root = debugfs_create_dir("simrnic", NULL);
}

void simrnic_debugfs_destroy(void)
{
	debugfs_remove_recursive(simrnic_debugfs_root);
}
