// SPDX-License-Identifier: GPL-2.0
/* Module parameters, and creation and removal of the cards. */
#include <linux/module.h>
#include <linux/slab.h>
#include "simrnic_rdma.h"

unsigned int simrnic_nics = 2;
module_param_named(nics, simrnic_nics, uint, 0444);
MODULE_PARM_DESC(nics, "number of cards (default 2)");

unsigned int simrnic_ports = 1;
module_param_named(ports, simrnic_ports, uint, 0444);
MODULE_PARM_DESC(ports, "ports of each card, one PF each (default 1)");

unsigned int simrnic_vfs = 8;
module_param_named(vfs, simrnic_vfs, uint, 0444);
MODULE_PARM_DESC(vfs, "VFs that each PF can have (default 8)");

unsigned int simrnic_sfs;
module_param_named(sfs, simrnic_sfs, uint, 0444);
MODULE_PARM_DESC(sfs, "sub-functions of each PF of Ethernet cards (default 0)");

unsigned int simrnic_gid_table_len = 256;
module_param_named(gid_table_len, simrnic_gid_table_len, uint, 0444);
MODULE_PARM_DESC(gid_table_len, "GIDs that each RDMA port can have (default 256)");

unsigned int simrnic_rdma_devices = 1;
module_param_named(rdma_devices, simrnic_rdma_devices, uint, 0444);
MODULE_PARM_DESC(rdma_devices, "RDMA devices of each function of Ethernet cards (default 1)");

unsigned int simrnic_rdma_ports = 1;
module_param_named(rdma_ports, simrnic_rdma_ports, uint, 0444);
MODULE_PARM_DESC(rdma_ports, "ports of each RDMA device of Ethernet cards (default 1)");

bool simrnic_wire = true;
module_param_named(wire, simrnic_wire, bool, 0444);
MODULE_PARM_DESC(wire, "whether all ports are on one Ethernet segment (default yes)");

bool simrnic_ib_grh;
module_param_named(ib_grh, simrnic_ib_grh, bool, 0444);
MODULE_PARM_DESC(ib_grh, "whether InfiniBand ports require a global routing header (default no)");

bool simrnic_ib_limited;
module_param_named(ib_limited, simrnic_ib_limited, bool, 0444);
MODULE_PARM_DESC(
	ib_limited,
	"whether InfiniBand ports are limited members of the default partition (default no)");

bool simrnic_vfio_pci;
module_param_named(vfio_pci, simrnic_vfio_pci, bool, 0444);
MODULE_PARM_DESC(vfio_pci, "a driver with the name of vfio-pci is there (default no)");

static char *simrnic_link_layer[SIMRNIC_MAX_NICS];
module_param_array_named(link_layer, simrnic_link_layer, charp, NULL, 0444);
MODULE_PARM_DESC(link_layer, "eth or ib for each card (default eth)");

static bool simrnic_movable[SIMRNIC_MAX_NICS] = { [0 ... SIMRNIC_MAX_NICS - 1] = true };
module_param_array_named(movable, simrnic_movable, bool, NULL, 0444);
MODULE_PARM_DESC(movable, "whether each card's RDMA devices can change namespaces (default yes)");

struct simrnic_nic *simrnic_nic[SIMRNIC_MAX_NICS];

static void simrnic_nic_free(struct simrnic_nic *nic)
{
	unsigned int i;

	for (i = 0; i < simrnic_ports; i++)
		kvfree(nic->ports[i].vfs);
	kfree(nic);
}

static struct simrnic_nic *simrnic_nic_alloc(unsigned int index)
{
	struct simrnic_nic *nic = kzalloc(sizeof(*nic), GFP_KERNEL);
	unsigned int i, vf;

	if (!nic)
		return NULL;
	nic->index = index;
	nic->movable = simrnic_movable[index];
	nic->infiniband = simrnic_link_layer[index] && !strcmp(simrnic_link_layer[index], "ib");
	for (i = 0; i < simrnic_ports; i++) {
		struct simrnic_port *port = &nic->ports[i];

		port->nic = nic;
		port->index = i;
		port->cable = true;
		port->managed = true;
		simrnic_vport_reset(&port->pf);
		port->vfs = kvcalloc(simrnic_vports(), sizeof(*port->vfs), GFP_KERNEL);
		if (!port->vfs && simrnic_vports())
			goto err;
		for (vf = 0; vf < simrnic_vports(); vf++)
			simrnic_vport_reset(&port->vfs[vf]);
	}
	return nic;

err:
	simrnic_nic_free(nic);
	return NULL;
}

/*
 * Unplugs all cards before it frees any of them, because one card's switch may still forward a
 * frame to another card.
 */
static void simrnic_remove_all(void)
{
	unsigned int i;

	for (i = simrnic_nics; i-- > 0;)
		if (simrnic_nic[i])
			simrnic_pci_unplug(simrnic_nic[i]);
	simrnic_pci_unregister_driver();
	simrnic_debugfs_destroy();
	synchronize_net();
	for (i = 0; i < simrnic_nics; i++)
		if (simrnic_nic[i])
			simrnic_nic_free(simrnic_nic[i]);
	simrnic_rdma_exit();
	simrnic_engine_exit();
	simrnic_ud_exit();
}

static bool __init simrnic_numbers_possible(void)
{
	if (simrnic_nics > SIMRNIC_MAX_NICS || simrnic_vfs > SIMRNIC_MAX_VFS || simrnic_ports < 1 ||
	    simrnic_ports > SIMRNIC_MAX_PORTS || simrnic_sfs > SIMRNIC_MAX_SFS) {
		pr_err("simrnic: at most %d cards, 1 to %d ports, at most %d VFs, %d sub-functions\n",
		       SIMRNIC_MAX_NICS, SIMRNIC_MAX_PORTS, SIMRNIC_MAX_VFS, SIMRNIC_MAX_SFS);
		return false;
	}
	if (simrnic_rdma_devices < 1 || simrnic_rdma_devices > SIMRNIC_MAX_RDMA ||
	    simrnic_rdma_ports < 1 || simrnic_rdma_ports > 2) {
		pr_err("simrnic: 1 to %d RDMA devices of a function, with 1 or 2 ports\n",
		       SIMRNIC_MAX_RDMA);
		return false;
	}
	return true;
}

static bool __init simrnic_link_layers_known(void)
{
	bool infiniband = false;
	unsigned int i;

	for (i = 0; i < SIMRNIC_MAX_NICS && simrnic_link_layer[i]; i++) {
		if (!strcmp(simrnic_link_layer[i], "ib")) {
			infiniband = true;
		} else if (strcmp(simrnic_link_layer[i], "eth")) {
			pr_err("simrnic: link_layer is eth or ib\n");
			return false;
		}
	}
	if (infiniband && !simrnic_ib_lids_suffice()) {
		pr_err("simrnic: too many functions for one InfiniBand subnet\n");
		return false;
	}
	return true;
}

static int __init simrnic_init(void)
{
	unsigned int i, port;
	int err;

	if (!simrnic_numbers_possible() || !simrnic_link_layers_known())
		return -EINVAL;
	err = simrnic_ud_init();
	if (err)
		return err;
	err = simrnic_engine_init();
	if (err)
		goto err_ud;
	err = simrnic_rdma_init();
	if (err)
		goto err_engine;
	for (i = 0; i < simrnic_nics; i++) {
		simrnic_nic[i] = simrnic_nic_alloc(i);
		if (!simrnic_nic[i]) {
			err = -ENOMEM;
			goto err_free;
		}
	}
	simrnic_debugfs_create();
	for (i = 0; i < simrnic_nics; i++)
		for (port = 0; port < simrnic_ports; port++)
			simrnic_debugfs_add_port(&simrnic_nic[i]->ports[port]);

	err = simrnic_pci_register_driver();
	if (err)
		goto err_debugfs;
	for (i = 0; i < simrnic_nics; i++) {
		err = simrnic_pci_plug(simrnic_nic[i]);
		if (err) {
			simrnic_remove_all();
			return err;
		}
	}
	return 0;

err_debugfs:
	simrnic_debugfs_destroy();
err_free:
	for (i = 0; i < simrnic_nics; i++)
		if (simrnic_nic[i])
			simrnic_nic_free(simrnic_nic[i]);
	simrnic_rdma_exit();
err_engine:
	simrnic_engine_exit();
err_ud:
	simrnic_ud_exit();
	return err;
}

static void __exit simrnic_exit(void)
{
	simrnic_remove_all();
}

module_init(simrnic_init);
module_exit(simrnic_exit);
MODULE_DESCRIPTION("Software SR-IOV RDMA NIC");
MODULE_LICENSE("GPL");
