// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA devices. They have everything that administration shows: ports, states, GIDs, counters,
 * namespaces, user contexts, and objects that can be created and counted. Users move data over RoCE
 * and with reliable connections over InfiniBand. The kernel's own data only moves over InfiniBand.
 */
#include <linux/delay.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_user_verbs.h>
#include "simrnic_engine.h"

static bool simrnic_rdma_link(const struct simrnic_func *func)
{
	if (!func->netdev)
		return simrnic_ib_active(func);
	return netif_running(func->netdev) && netif_carrier_ok(func->netdev);
}

void simrnic_rdma_update_link(struct simrnic_func *func)
{
	struct ib_event event = { .element.port_num = 1 };
	bool active = simrnic_rdma_link(func);
	unsigned int i;

	if (!func->ibdev_count || active == func->rdma_active)
		return;
	func->rdma_active = active;
	event.event = active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR;
	for (i = 0; i < func->ibdev_count; i++) {
		event.device = &func->ibdevs[i]->ib;
		ib_dispatch_event(&event);
	}
}

/* Device and port */

static int simrnic_query_device(struct ib_device *ib, struct ib_device_attr *attr,
				struct ib_udata *udata)
{
	const struct simrnic_func *func = simrnic_func_of(ib);
	u8 mac[ETH_ALEN] = { 0x02, 0x52, func->port->nic->index };

	memset(attr, 0, sizeof(*attr));
	/* One GUID for each card shows software which ports belong together. */
	addrconf_addr_eui48((u8 *)&attr->sys_image_guid, mac);
	attr->fw_ver = 1ULL << 32;
	attr->vendor_id = SIMRNIC_VENDOR_ID;
	attr->vendor_part_id = func->pdev->device;
	attr->max_mr_size = ~0ULL;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = 65536;
	attr->max_qp_wr = SIMRNIC_MAX_WR;
	attr->max_send_sge = SIMRNIC_MAX_SGE;
	attr->max_recv_sge = SIMRNIC_MAX_SGE;
	attr->max_sge_rd = SIMRNIC_MAX_SGE;
	attr->max_qp_rd_atom = SIMRNIC_MAX_READS;
	attr->max_qp_init_rd_atom = SIMRNIC_MAX_READS;
	attr->max_res_rd_atom = SIMRNIC_MAX_READS * attr->max_qp;
	attr->atomic_cap = IB_ATOMIC_HCA;
	attr->max_cq = 65536;
	attr->max_cqe = SIMRNIC_MAX_CQE;
	attr->max_mr = 65536;
	attr->max_pd = 65536;
	attr->max_ah = 65536;
	attr->max_mcast_grp = 8192;
	attr->max_mcast_qp_attach = 1024;
	attr->max_pkeys = func->netdev ? 1 : 128;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY;
	/* IPoIB net devices on VFs do not administer VFs. */
	if (simrnic_is_vf(func))
		attr->kernel_cap_flags |= IBK_VIRTUAL_FUNCTION;
	attr->device_cap_flags = IB_DEVICE_PORT_ACTIVE_EVENT | IB_DEVICE_SYS_IMAGE_GUID;
	return 0;
}

static void simrnic_get_dev_fw_str(struct ib_device *ib, char *str)
{
	strscpy(str, "1.0.0", IB_FW_VERSION_NAME_MAX);
}

/* A second port has neither a net device nor a link. */
static int simrnic_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	const struct simrnic_func *func = simrnic_func_of(ib);
	bool link = port == 1 && simrnic_rdma_link(func);

	attr->state = link ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = link ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = iboe_get_mtu(READ_ONCE(func->netdev->mtu));
	attr->gid_tbl_len = simrnic_gid_table_len;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = SIMRNIC_MAX_MESSAGE;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->ip_gids = true;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

static int simrnic_get_port_immutable(struct ib_device *ib, u32 port,
				      struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE | RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	immutable->gid_tbl_len = simrnic_gid_table_len;
	immutable->pkey_tbl_len = 1;
	return 0;
}

/*
 * Not ib_device_set_netdev(): rdma_rxe finds devices by net device and driver ID, and would take
 * this one for its own.
 */
static struct net_device *simrnic_get_netdev(struct ib_device *ib, u32 port)
{
	struct net_device *netdev = port == 1 ? simrnic_func_of(ib)->netdev : NULL;

	dev_hold(netdev);
	return netdev;
}

static enum rdma_link_layer simrnic_get_link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int simrnic_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

/* The core keeps the table. Paths have copies of the entries that they need. */
static int simrnic_add_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static int simrnic_del_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static const struct ib_device_ops simrnic_device_ops = {
	.owner = THIS_MODULE,
	/* rdma-core's provider for rxe drives the queues of users. */
	.driver_id = RDMA_DRIVER_RXE,
	.uverbs_abi_ver = 2,
	.get_dev_fw_str = simrnic_get_dev_fw_str,
	.query_device = simrnic_query_device,
};

static const struct ib_device_ops simrnic_roce_ops = {
	.add_gid = simrnic_add_gid,
	.del_gid = simrnic_del_gid,
	.get_link_layer = simrnic_get_link_layer,
	.get_netdev = simrnic_get_netdev,
	.get_port_immutable = simrnic_get_port_immutable,
	.query_pkey = simrnic_query_pkey,
	.query_port = simrnic_query_port,
};

/* If two tables have the same operation, the first one wins. */
static void simrnic_set_ops(struct simrnic_ibdev *ibdev)
{
	ib_set_device_ops(&ibdev->ib, &simrnic_device_ops);
	if (ibdev->func->netdev) {
		ib_set_device_ops(&ibdev->ib, &simrnic_roce_ops);
	} else {
		ib_set_device_ops(&ibdev->ib, &simrnic_infiniband_ops);
		ib_set_device_ops(&ibdev->ib, &simrnic_mcast_ops);
	}
	ib_set_device_ops(&ibdev->ib, &simrnic_post_ops);
	ib_set_device_ops(&ibdev->ib, &simrnic_ah_ops);
	ib_set_device_ops(&ibdev->ib, &simrnic_mr_ops);
	ib_set_device_ops(&ibdev->ib, &simrnic_object_ops);
	if (ibdev->func->port->nic->movable)
		ib_set_device_ops(&ibdev->ib, &simrnic_movable_ops);
	ib_set_device_ops(&ibdev->ib, &simrnic_counter_ops);
	ibdev->ib.uverbs_cmd_mask |=
		BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) | BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
}

/* A function's second RDMA device, if it has one, is called roce0p0d1. */
static void simrnic_rdma_name(const struct simrnic_func *func, unsigned int index, char *name,
			      size_t size)
{
	size_t used;

	simrnic_func_name(func, func->netdev ? "roce" : "ib", name, size);
	used = strlen(name);
	if (index)
		snprintf(name + used, size - used, "d%u", index);
}

/* Further devices have lower numbers in place of the two ff of the EUI-64. */
static __be64 simrnic_rdma_guid(const struct simrnic_func *func, unsigned int index)
{
	return cpu_to_be64(be64_to_cpu(func->node_guid) - ((u64)index << 32));
}

static void simrnic_own_queues_destroy(struct simrnic_ibdev *ibdev)
{
	if (!IS_ERR_OR_NULL(ibdev->own_qp))
		ib_destroy_qp(ibdev->own_qp);
	if (!IS_ERR_OR_NULL(ibdev->own_cq))
		ib_free_cq(ibdev->own_cq);
	if (!IS_ERR_OR_NULL(ibdev->own_pd))
		ib_dealloc_pd(ibdev->own_pd);
}

static int simrnic_own_queues_create(struct simrnic_ibdev *ibdev)
{
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};

	ibdev->own_pd = ib_alloc_pd(&ibdev->ib, 0);
	if (IS_ERR(ibdev->own_pd))
		return PTR_ERR(ibdev->own_pd);
	ibdev->own_cq = ib_alloc_cq(&ibdev->ib, NULL, 1, 0, IB_POLL_DIRECT);
	if (IS_ERR(ibdev->own_cq))
		return PTR_ERR(ibdev->own_cq);
	attr.send_cq = ibdev->own_cq;
	attr.recv_cq = ibdev->own_cq;
	ibdev->own_qp = ib_create_qp(ibdev->own_pd, &attr);
	return PTR_ERR_OR_ZERO(ibdev->own_qp);
}

static struct simrnic_ibdev *simrnic_ibdev_create(struct simrnic_func *func, unsigned int index)
{
	struct simrnic_ibdev *ibdev;
	char name[IB_DEVICE_NAME_MAX];
	int err;

	ibdev = ib_alloc_device(simrnic_ibdev, ib);
	if (!ibdev)
		return ERR_PTR(-ENOMEM);
	ibdev->func = func;
	ibdev->ib.phys_port_cnt = func->netdev ? simrnic_rdma_ports : 1;
	ibdev->ib.node_type = RDMA_NODE_IB_CA;
	ibdev->ib.num_comp_vectors = 1;
	ibdev->ib.dev.parent = func->dev;
	ibdev->ib.node_guid = simrnic_rdma_guid(func, index);
	simrnic_set_ops(ibdev);
	simrnic_rdma_name(func, index, name, sizeof(name));
	err = ib_register_device(&ibdev->ib, name, NULL);
	if (err)
		goto err_dealloc;
	err = simrnic_own_queues_create(ibdev);
	if (err)
		goto err_unregister;
	return ibdev;

err_unregister:
	ibdev->leaving = true;
	ib_unregister_device(&ibdev->ib);
	simrnic_own_queues_destroy(ibdev);
err_dealloc:
	ib_dealloc_device(&ibdev->ib);
	return ERR_PTR(err);
}

static void simrnic_ibdev_destroy(struct simrnic_ibdev *ibdev)
{
	ibdev->leaving = true;
	ib_unregister_device(&ibdev->ib);
	simrnic_own_queues_destroy(ibdev);
	ib_dealloc_device(&ibdev->ib);
}

int simrnic_rdma_create(struct simrnic_func *func)
{
	unsigned int count = func->netdev ? simrnic_rdma_devices : 1, i;
	int err;

	for (i = 0; i < count; i++) {
		func->ibdevs[i] = simrnic_ibdev_create(func, i);
		if (IS_ERR(func->ibdevs[i])) {
			err = PTR_ERR(func->ibdevs[i]);
			goto err_destroy;
		}
	}
	rtnl_lock();
	func->ibdev_count = count;
	simrnic_rdma_update_link(func);
	rtnl_unlock();
	return 0;

err_destroy:
	while (i-- > 0)
		simrnic_ibdev_destroy(func->ibdevs[i]);
	return err;
}

void simrnic_rdma_destroy(struct simrnic_func *func)
{
	unsigned int count = func->ibdev_count;

	/*
	 * Not together with the following under one RTNL, because the GID table's cleanup takes
	 * RTNL itself.
	 */
	rtnl_lock();
	func->ibdev_count = 0;
	rtnl_unlock();
	while (count-- > 0)
		simrnic_ibdev_destroy(func->ibdevs[count]);
}

/*
 * Slow moves. Before a device changes namespaces, the kernel removes it from all its kernel users.
 * At that time it is visible in neither namespace. This user takes its time.
 */

static int simrnic_client_add(struct ib_device *ib)
{
	return ib->ops.owner == THIS_MODULE ? 0 : -EOPNOTSUPP;
}

static void simrnic_client_remove(struct ib_device *ib, void *data)
{
	u32 delay_ms = READ_ONCE(simrnic_func_of(ib)->port->faults.rdma_move_delay_ms);

	if (delay_ms && !container_of(ib, struct simrnic_ibdev, ib)->leaving)
		msleep(delay_ms);
}

static struct ib_client simrnic_client = {
	.name = "simrnic",
	.add = simrnic_client_add,
	.remove = simrnic_client_remove,
};

int simrnic_rdma_init(void)
{
	return ib_register_client(&simrnic_client);
}

void simrnic_rdma_exit(void)
{
	ib_unregister_client(&simrnic_client);
}
