// SPDX-License-Identifier: GPL-2.0
/*
 * InfiniBand functions: the state of a port, and the administration of VFs. The kernel's IPoIB
 * passes the administration on from its net device on the PF.
 */
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <rdma/ib_mad.h>
#include "simrnic_rdma.h"

#define SIMRNIC_GIDS	  8
#define SIMRNIC_PKEYS	  16
#define SIMRNIC_FIRST_LID (SIMRNIC_SM_LID + 1)
#define SIMRNIC_LAST_LID  0xbfff

/* Membership in the default partition, and full membership in three others. RoCE has only the
 * first. */
u16 simrnic_pkey(const struct simrnic_func *func, unsigned int index)
{
	static const u16 others[] = { 0x8001, 0x8002, 0x8003 };

	if (!index)
		return !func->netdev && simrnic_ib_limited ? IB_DEFAULT_PKEY_PARTIAL
							   : IB_DEFAULT_PKEY_FULL;
	return !func->netdev && index <= ARRAY_SIZE(others) ? others[index - 1] : 0;
}

/* Functions */

/* One LID for each function, the same after every boot. */
static unsigned int simrnic_lid(unsigned int nic, unsigned int port, unsigned int function)
{
	return SIMRNIC_FIRST_LID + (nic * simrnic_ports + port) * (simrnic_vfs + 1) + function;
}

bool simrnic_ib_lids_suffice(void)
{
	return simrnic_lid(simrnic_nics, 0, 0) <= SIMRNIC_LAST_LID;
}

struct simrnic_func *simrnic_ib_create(struct pci_dev *pdev, struct simrnic_port *port, int vf)
{
	struct simrnic_func *func = kzalloc(sizeof(*func), GFP_KERNEL);

	if (!func)
		return ERR_PTR(-ENOMEM);
	func->dev = &pdev->dev;
	func->pdev = pdev;
	func->port = port;
	func->vport = vf < 0 ? &port->pf : &port->vfs[vf];
	func->lid = simrnic_lid(port->nic->index, port->index, vf + 1);
	rtnl_lock();
	simrnic_set_guids(func);
	rcu_assign_pointer(func->vport->func, func);
	/* Without a driver on the PF its VFs had no link either. */
	simrnic_port_update_links(port);
	rtnl_unlock();
	return func;
}

void simrnic_ib_destroy(struct simrnic_func *func)
{
	rtnl_lock();
	RCU_INIT_POINTER(func->vport->func, NULL);
	simrnic_port_update_links(func->port);
	rtnl_unlock();
	synchronize_net();
	kfree(func);
}

/* Ports */

static int simrnic_ib_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	const struct simrnic_func *func = simrnic_func_of(ib);
	bool link = READ_ONCE(func->link), managed = READ_ONCE(func->port->managed);

	attr->state = !link ? IB_PORT_DOWN : managed ? IB_PORT_ACTIVE : IB_PORT_INIT;
	attr->phys_state = link ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_POLLING;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->gid_tbl_len = SIMRNIC_GIDS;
	attr->pkey_tbl_len = SIMRNIC_PKEYS;
	attr->max_msg_sz = 1 << 30;
	attr->port_cap_flags = IB_PORT_CM_SUP | IB_PORT_SYS_IMAGE_GUID_SUP;
	attr->lid = managed ? func->lid : 0;
	attr->sm_lid = managed ? SIMRNIC_SM_LID : 0;
	attr->subnet_timeout = 18;
	attr->bad_pkey_cntr = atomic_read(&func->bad_pkeys);
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

static int simrnic_ib_get_port_immutable(struct ib_device *ib, u32 port,
					 struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	if (simrnic_ib_grh)
		immutable->core_cap_flags |= RDMA_CORE_CAP_IB_GRH_REQUIRED;
	immutable->gid_tbl_len = SIMRNIC_GIDS;
	immutable->pkey_tbl_len = SIMRNIC_PKEYS;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static enum rdma_link_layer simrnic_ib_get_link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_INFINIBAND;
}

static int simrnic_ib_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	if (index >= SIMRNIC_PKEYS)
		return -EINVAL;
	*pkey = simrnic_pkey(simrnic_func_of(ib), index);
	return 0;
}

static int simrnic_ib_query_gid(struct ib_device *ib, u32 port, int index, union ib_gid *gid)
{
	if (index < 0 || index >= SIMRNIC_GIDS)
		return -EINVAL;
	memset(gid, 0, sizeof(*gid));
	if (index)
		return 0;
	gid->global.subnet_prefix = cpu_to_be64(SIMRNIC_SUBNET_PREFIX);
	gid->global.interface_id = simrnic_func_of(ib)->port_guid;
	return 0;
}

/* The connection manager only announces itself, so nothing is done. */
static int simrnic_ib_modify_port(struct ib_device *ib, u32 port, int mask,
				  struct ib_port_modify *modify)
{
	return 0;
}

/* VF administration */

static int simrnic_ib_set_vf_link_state(struct ib_device *ib, int vf, u32 port, int state)
{
	return simrnic_admin_link_state(simrnic_func_of(ib), vf, state);
}

static int simrnic_ib_get_vf_config(struct ib_device *ib, int vf, u32 port,
				    struct ifla_vf_info *info)
{
	const struct simrnic_func *func = simrnic_func_of(ib);

	if (vf < 0 || vf >= pci_num_vf(func->pdev))
		return -EINVAL;
	memset(info, 0, sizeof(*info));
	info->vf = vf;
	info->linkstate = func->port->vfs[vf].link_state;
	return 0;
}

/* As with mlx5: the VF uses the GUID when its driver is bound again. */
static int simrnic_ib_set_vf_guid(struct ib_device *ib, int vf, u32 port, u64 guid, int type)
{
	struct simrnic_vport *vport = simrnic_admin(simrnic_func_of(ib), vf);

	if (IS_ERR_OR_NULL(vport))
		return PTR_ERR(vport);
	switch (type) {
	case IFLA_VF_IB_NODE_GUID:
		vport->node_guid = guid;
		return 0;
	case IFLA_VF_IB_PORT_GUID:
		vport->port_guid = guid;
		return 0;
	default:
		return -EINVAL;
	}
}

/* As with mlx5: returns the set GUID, not the one in use. */
static int simrnic_ib_get_vf_guid(struct ib_device *ib, int vf, u32 port,
				  struct ifla_vf_guid *node_guid, struct ifla_vf_guid *port_guid)
{
	const struct simrnic_func *func = simrnic_func_of(ib);

	if (vf < 0 || vf >= pci_num_vf(func->pdev))
		return -EINVAL;
	node_guid->vf = vf;
	node_guid->guid = func->port->vfs[vf].node_guid;
	port_guid->vf = vf;
	port_guid->guid = func->port->vfs[vf].port_guid;
	return 0;
}

const struct ib_device_ops simrnic_infiniband_ops = {
	.get_link_layer = simrnic_ib_get_link_layer,
	.get_port_immutable = simrnic_ib_get_port_immutable,
	.get_vf_config = simrnic_ib_get_vf_config,
	.get_vf_guid = simrnic_ib_get_vf_guid,
	.modify_port = simrnic_ib_modify_port,
	.query_gid = simrnic_ib_query_gid,
	.query_pkey = simrnic_ib_query_pkey,
	.query_port = simrnic_ib_query_port,
	.set_vf_guid = simrnic_ib_set_vf_guid,
	.set_vf_link_state = simrnic_ib_set_vf_link_state,
};
