// SPDX-License-Identifier: GPL-2.0
/*
 * A PCI host bridge in software, with one multi-function SR-IOV device behind it. Everything
 * between the bridge and the driver, from sriov_numvfs to virtfnN, is the kernel's PCI core.
 *
 * Card N is PCI domain N + 1. Port P's PF is function P of device 0. VFs begin at device 1, port
 * 0's first. They continue on the next bus number if 256 routing IDs do not suffice.
 */
#include <linux/slab.h>
#include "simrnic.h"

#define CAP_EXP		 0x40
#define CAP_SRIOV	 PCI_CFG_SPACE_SIZE
#define FIRST_VF_RID	 8

#define CLASS_INFINIBAND 0x0207

static unsigned int simrnic_vf_rid(unsigned int port, unsigned int vf)
{
	return FIRST_VF_RID + port * simrnic_vfs + vf;
}

static u8 *simrnic_reg(struct simrnic_nic *nic, unsigned int rid, int reg)
{
	return &nic->config[rid][reg];
}

static u16 simrnic_get16(struct simrnic_nic *nic, unsigned int rid, int reg)
{
	return le16_to_cpup((__le16 *)simrnic_reg(nic, rid, reg));
}

static void simrnic_put16(struct simrnic_nic *nic, unsigned int rid, int reg, u16 value)
{
	*(__le16 *)simrnic_reg(nic, rid, reg) = cpu_to_le16(value);
}

static void simrnic_put32(struct simrnic_nic *nic, unsigned int rid, int reg, u32 value)
{
	*(__le32 *)simrnic_reg(nic, rid, reg) = cpu_to_le32(value);
}

/* VFs respond once the PF's VF Enable bit is set. NumVFs sets how many. */
static bool simrnic_answers(struct simrnic_nic *nic, unsigned int rid)
{
	unsigned int port, vf;

	if (rid >= nic->functions)
		return false;
	if (rid < FIRST_VF_RID)
		return rid < simrnic_ports;
	port = (rid - FIRST_VF_RID) / simrnic_vfs;
	vf = (rid - FIRST_VF_RID) % simrnic_vfs;
	return simrnic_get16(nic, port, CAP_SRIOV + PCI_SRIOV_CTRL) & PCI_SRIOV_CTRL_VFE &&
	       vf < simrnic_get16(nic, port, CAP_SRIOV + PCI_SRIOV_NUM_VF);
}

static struct simrnic_vport *simrnic_vport_at(struct simrnic_nic *nic, unsigned int rid)
{
	if (rid < FIRST_VF_RID)
		return &nic->ports[rid].pf;
	rid -= FIRST_VF_RID;
	return &nic->ports[rid / simrnic_vfs].vfs[rid % simrnic_vfs];
}

/*
 * A function-level reset clears the function's own state, but not the PF's settings for it. The
 * core saves the registers before and restores them afterwards.
 */
static void simrnic_flr(struct simrnic_nic *nic, unsigned int rid)
{
	struct simrnic_vport *vport = simrnic_vport_at(nic, rid);

	simrnic_put16(nic, rid, PCI_COMMAND, 0);
	simrnic_put16(nic, rid, CAP_EXP + PCI_EXP_DEVCTL, 0);
	if (rid < FIRST_VF_RID && simrnic_vfs) {
		simrnic_put16(nic, rid, CAP_SRIOV + PCI_SRIOV_CTRL, 0);
		simrnic_put16(nic, rid, CAP_SRIOV + PCI_SRIOV_NUM_VF, 0);
	}
	vport->residue = 0;
	vport->resets++;
	if (rcu_access_pointer(vport->func))
		vport->resets_under_driver++;
}

/* These registers keep what is written. The others are read-only, and there are no BARs. */
static bool simrnic_writable(unsigned int rid, int where, int size)
{
	static const struct {
		int reg;
		int size;
		bool pf_only;
	} registers[] = {
		{ PCI_COMMAND, 2, false },
		{ CAP_EXP + PCI_EXP_DEVCTL, 2, false },
		{ CAP_SRIOV + PCI_SRIOV_CTRL, 2, true },
		{ CAP_SRIOV + PCI_SRIOV_NUM_VF, 2, true },
		{ CAP_SRIOV + PCI_SRIOV_SYS_PGSIZE, 4, true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(registers); i++)
		if (where >= registers[i].reg &&
		    where + size <= registers[i].reg + registers[i].size)
			return !registers[i].pf_only || rid < FIRST_VF_RID;
	return false;
}

struct simrnic_nic *simrnic_nic_of_bus(struct pci_bus *bus)
{
	return container_of(bus->sysdata, struct simrnic_nic, sysdata);
}

static int simrnic_config_read(struct pci_bus *bus, unsigned int devfn, int where, int size,
			       u32 *value)
{
	struct simrnic_nic *nic = simrnic_nic_of_bus(bus);
	unsigned int rid = bus->number << 8 | devfn;
	__le32 raw = 0;

	if (!simrnic_answers(nic, rid)) {
		PCI_SET_ERROR_RESPONSE(value);
		return PCIBIOS_DEVICE_NOT_FOUND;
	}
	memcpy(&raw, simrnic_reg(nic, rid, where), size);
	*value = le32_to_cpu(raw);
	return PCIBIOS_SUCCESSFUL;
}

static int simrnic_config_write(struct pci_bus *bus, unsigned int devfn, int where, int size,
				u32 value)
{
	struct simrnic_nic *nic = simrnic_nic_of_bus(bus);
	unsigned int rid = bus->number << 8 | devfn;
	__le32 raw = cpu_to_le32(value);

	if (!simrnic_answers(nic, rid))
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (simrnic_writable(rid, where, size))
		memcpy(simrnic_reg(nic, rid, where), &raw, size);
	if (simrnic_get16(nic, rid, CAP_EXP + PCI_EXP_DEVCTL) & PCI_EXP_DEVCTL_BCR_FLR)
		simrnic_flr(nic, rid);
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops simrnic_pci_ops = {
	.read = simrnic_config_read,
	.write = simrnic_config_write,
};

static void simrnic_init_function(struct simrnic_nic *nic, unsigned int rid, u16 vendor, u16 device)
{
	simrnic_put16(nic, rid, PCI_VENDOR_ID, vendor);
	simrnic_put16(nic, rid, PCI_DEVICE_ID, device);
	simrnic_put16(nic, rid, PCI_STATUS, PCI_STATUS_CAP_LIST);
	simrnic_put16(nic, rid, PCI_CLASS_DEVICE,
		      nic->infiniband ? CLASS_INFINIBAND : PCI_CLASS_NETWORK_ETHERNET);
	*simrnic_reg(nic, rid, PCI_HEADER_TYPE) = PCI_HEADER_TYPE_NORMAL | 0x80;
	simrnic_put16(nic, rid, PCI_SUBSYSTEM_VENDOR_ID, SIMRNIC_VENDOR_ID);
	*simrnic_reg(nic, rid, PCI_CAPABILITY_LIST) = CAP_EXP;
	*simrnic_reg(nic, rid, CAP_EXP) = PCI_CAP_ID_EXP;
	/*
	 * As a device integrated into the root complex, so that the core looks for no upstream
	 * port.
	 */
	simrnic_put16(nic, rid, CAP_EXP + PCI_EXP_FLAGS, PCI_EXP_TYPE_RC_END << 4 | 2);
	simrnic_put32(nic, rid, CAP_EXP + PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_FLR);
}

/*
 * Sets whether the port's VFs support function-level reset. The core reads it when it creates them.
 */
void simrnic_pci_set_flr(struct simrnic_port *port)
{
	u32 flr = READ_ONCE(port->faults.vf_no_flr) ? 0 : PCI_EXP_DEVCAP_FLR;
	unsigned int vf;

	for (vf = 0; vf < simrnic_vfs; vf++)
		simrnic_put32(port->nic, simrnic_vf_rid(port->index, vf), CAP_EXP + PCI_EXP_DEVCAP,
			      flr);
}

static void simrnic_init_sriov(struct simrnic_nic *nic, unsigned int port)
{
	simrnic_put32(nic, port, CAP_SRIOV, 1 << 16 | PCI_EXT_CAP_ID_SRIOV);
	simrnic_put16(nic, port, CAP_SRIOV + PCI_SRIOV_INITIAL_VF, simrnic_vfs);
	simrnic_put16(nic, port, CAP_SRIOV + PCI_SRIOV_TOTAL_VF, simrnic_vfs);
	*simrnic_reg(nic, port, CAP_SRIOV + PCI_SRIOV_FUNC_LINK) = port;
	simrnic_put16(nic, port, CAP_SRIOV + PCI_SRIOV_VF_OFFSET, simrnic_vf_rid(port, 0) - port);
	simrnic_put16(nic, port, CAP_SRIOV + PCI_SRIOV_VF_STRIDE, 1);
	simrnic_put16(nic, port, CAP_SRIOV + PCI_SRIOV_VF_DID, SIMRNIC_VF_DEVICE_ID);
	simrnic_put32(nic, port, CAP_SRIOV + PCI_SRIOV_SUP_PGSIZE, 1);
	simrnic_put32(nic, port, CAP_SRIOV + PCI_SRIOV_SYS_PGSIZE, 1);
}

static int simrnic_init_config(struct simrnic_nic *nic)
{
	unsigned int port, vf;

	nic->functions = simrnic_vf_rid(simrnic_ports, 0);
	nic->config = kvcalloc(nic->functions, sizeof(*nic->config), GFP_KERNEL);
	if (!nic->config)
		return -ENOMEM;
	for (port = 0; port < simrnic_ports; port++) {
		simrnic_init_function(nic, port, SIMRNIC_VENDOR_ID, SIMRNIC_PF_DEVICE_ID);
		if (simrnic_vfs)
			simrnic_init_sriov(nic, port);
		/* A VF's identity is in its PF's capability. Its own registers read as ones. */
		for (vf = 0; vf < simrnic_vfs; vf++)
			simrnic_init_function(nic, simrnic_vf_rid(port, vf), 0xffff, 0xffff);
	}
	return 0;
}

int simrnic_pci_plug(struct simrnic_nic *nic)
{
	LIST_HEAD(windows);
	int err;

	err = simrnic_init_config(nic);
	if (err)
		return err;
	nic->sysdata.domain = nic->index + 1;
	nic->sysdata.node = NUMA_NO_NODE;
	nic->busnr.name = "simrnic";
	nic->busnr.start = 0;
	nic->busnr.end = (nic->functions - 1) >> 8;
	nic->busnr.flags = IORESOURCE_BUS;
	pci_add_resource(&windows, &nic->busnr);

	pci_lock_rescan_remove();
	nic->bus = pci_scan_root_bus(NULL, 0, &simrnic_pci_ops, &nic->sysdata, &windows);
	if (nic->bus)
		pci_bus_add_devices(nic->bus);
	pci_unlock_rescan_remove();
	if (!nic->bus) {
		pci_free_resource_list(&windows);
		kvfree(nic->config);
		nic->config = NULL;
		return -ENODEV;
	}
	return 0;
}

void simrnic_pci_unplug(struct simrnic_nic *nic)
{
	if (nic->bus) {
		pci_lock_rescan_remove();
		pci_stop_root_bus(nic->bus);
		pci_remove_root_bus(nic->bus);
		pci_unlock_rescan_remove();
	}
	kvfree(nic->config);
}
