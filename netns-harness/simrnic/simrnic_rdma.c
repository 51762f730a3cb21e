// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA devices. They have everything that administration sees: ports, states, GIDs, counters,
 * namespaces, user contexts, and objects that can be created and counted. They do not move data:
 * rdma_rxe on top of the net device does that.
 */
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>
#include <rdma/ib_verbs.h>
#include "simrnic.h"

struct simrnic_ibdev {
	struct ib_device ib;
	struct simrnic_func *func;
	atomic_t next_qpn;
};

struct simrnic_ucontext {
	struct ib_ucontext ib;
};

struct simrnic_pd {
	struct ib_pd ib;
};

struct simrnic_cq {
	struct ib_cq ib;
};

struct simrnic_qp {
	struct ib_qp ib;
	struct ib_qp_attr attr;
};

static struct simrnic_func *simrnic_func_of(struct ib_device *ib)
{
	return container_of(ib, struct simrnic_ibdev, ib)->func;
}

static bool simrnic_rdma_link(const struct simrnic_func *func)
{
	return netif_running(func->netdev) && netif_carrier_ok(func->netdev);
}

void simrnic_rdma_update_link(struct simrnic_func *func)
{
	struct ib_event event = { .device = func->ibdev, .element.port_num = 1 };
	bool active = simrnic_rdma_link(func);

	if (!func->ibdev || active == func->rdma_active)
		return;
	func->rdma_active = active;
	event.event = active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR;
	ib_dispatch_event(&event);
}

/* Device and port */

static int simrnic_query_device(struct ib_device *ib, struct ib_device_attr *attr,
				struct ib_udata *udata)
{
	const struct simrnic_func *func = simrnic_func_of(ib);
	u8 mac[ETH_ALEN] = { 0x02, 0x52, func->port->nic->index };

	memset(attr, 0, sizeof(*attr));
	/* One per card: how software sees that ports belong together. */
	addrconf_addr_eui48((u8 *)&attr->sys_image_guid, mac);
	attr->fw_ver = 1ULL << 32;
	attr->vendor_id = SIMRNIC_VENDOR_ID;
	attr->vendor_part_id = func->pdev->device;
	attr->max_mr_size = ~0ULL;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = 65536;
	attr->max_qp_wr = 16384;
	attr->max_send_sge = 16;
	attr->max_recv_sge = 16;
	attr->max_cq = 65536;
	attr->max_cqe = 65536;
	attr->max_mr = 65536;
	attr->max_pd = 65536;
	attr->max_pkeys = 1;
	attr->device_cap_flags = IB_DEVICE_PORT_ACTIVE_EVENT | IB_DEVICE_SYS_IMAGE_GUID;
	return 0;
}

static void simrnic_get_dev_fw_str(struct ib_device *ib, char *str)
{
	strscpy(str, "1.0.0", IB_FW_VERSION_NAME_MAX);
}

static int simrnic_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	const struct simrnic_func *func = simrnic_func_of(ib);
	bool link = simrnic_rdma_link(func);

	attr->state = link ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = link ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = iboe_get_mtu(READ_ONCE(func->netdev->mtu));
	attr->gid_tbl_len = simrnic_gid_table_len;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = 1 << 30;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->ip_gids = true;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

/* No MAD and no CM: both need a queue pair 1 that moves data. */
static int simrnic_get_port_immutable(struct ib_device *ib, u32 port,
				      struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags =
		RDMA_CORE_CAP_PROT_ROCE | RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP | RDMA_CORE_CAP_ETH_AH;
	immutable->gid_tbl_len = simrnic_gid_table_len;
	immutable->pkey_tbl_len = 1;
	return 0;
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

/* The core keeps the table, and without data to send there is no copy of it to program. */
static int simrnic_add_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static int simrnic_del_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

/* Counters */

enum {
	SIMRNIC_HW_RX_WRITE_REQUESTS,
	SIMRNIC_HW_RX_READ_REQUESTS,
	SIMRNIC_HW_OUT_OF_SEQUENCE,
	SIMRNIC_HW_COUNTERS
};

static const struct rdma_stat_desc simrnic_hw_counters[SIMRNIC_HW_COUNTERS] = {
	[SIMRNIC_HW_RX_WRITE_REQUESTS].name = "rx_write_requests",
	[SIMRNIC_HW_RX_READ_REQUESTS].name = "rx_read_requests",
	[SIMRNIC_HW_OUT_OF_SEQUENCE].name = "out_of_sequence",
};

static struct rdma_hw_stats *simrnic_alloc_hw_port_stats(struct ib_device *ib, u32 port)
{
	return rdma_alloc_hw_stats_struct(simrnic_hw_counters, SIMRNIC_HW_COUNTERS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int simrnic_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port,
				int index)
{
	const struct simrnic_func *func = simrnic_func_of(ib);

	if (!port)
		return -EOPNOTSUPP;
	stats->value[SIMRNIC_HW_RX_WRITE_REQUESTS] = simrnic_read(func, SIMRNIC_RX_WRITE_REQUESTS);
	stats->value[SIMRNIC_HW_RX_READ_REQUESTS] = simrnic_read(func, SIMRNIC_RX_READ_REQUESTS);
	stats->value[SIMRNIC_HW_OUT_OF_SEQUENCE] = READ_ONCE(func->port->out_of_sequence);
	return SIMRNIC_HW_COUNTERS;
}

static void simrnic_fill_counters_ext(const struct simrnic_func *func,
				      struct ib_pma_portcounters_ext *counters)
{
	/* The data counters count words of four bytes. */
	counters->port_xmit_data = cpu_to_be64(simrnic_read(func, SIMRNIC_TX_RDMA_BYTES) / 4);
	counters->port_rcv_data = cpu_to_be64(simrnic_read(func, SIMRNIC_RX_RDMA_BYTES) / 4);
	counters->port_xmit_packets = cpu_to_be64(simrnic_read(func, SIMRNIC_TX_RDMA_PACKETS));
	counters->port_rcv_packets = cpu_to_be64(simrnic_read(func, SIMRNIC_RX_RDMA_PACKETS));
	counters->port_unicast_xmit_packets = counters->port_xmit_packets;
	counters->port_unicast_rcv_packets = counters->port_rcv_packets;
}

/* Only what the core asks in order to fill ports/1/counters. */
static int simrnic_process_mad(struct ib_device *ib, int flags, u32 port, const struct ib_wc *wc,
			       const struct ib_grh *grh, const struct ib_mad *in,
			       struct ib_mad *out, size_t *out_size, u16 *out_pkey_index)
{
	const struct ib_class_port_info info = { .capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH };
	void *answer = out->data + 40; /* where a performance management class's data starts */

	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_SUCCESS;
	memset(out->data, 0, sizeof(out->data));
	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		memcpy(answer, &info, sizeof(info));
		break;
	case IB_PMA_PORT_COUNTERS_EXT:
		simrnic_fill_counters_ext(simrnic_func_of(ib), answer);
		break;
	case IB_PMA_PORT_COUNTERS:
		break; /* no errors to report */
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

/* Objects */

static int simrnic_alloc_ucontext(struct ib_ucontext *ucontext, struct ib_udata *udata)
{
	return 0;
}

static void simrnic_dealloc_ucontext(struct ib_ucontext *ucontext)
{
}

/* The device can change namespaces because this is there; no user maps anything that must go. */
static void simrnic_disassociate_ucontext(struct ib_ucontext *ucontext)
{
}

static int simrnic_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static int simrnic_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static struct ib_mr *simrnic_get_dma_mr(struct ib_pd *pd, int access)
{
	struct ib_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	return mr ? mr : ERR_PTR(-ENOMEM);
}

static struct ib_mr *simrnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr,
					 int access, struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static int simrnic_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	kfree(mr);
	return 0;
}

static int simrnic_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			     struct ib_udata *udata)
{
	cq->cqe = attr->cqe;
	return 0;
}

static int simrnic_destroy_cq(struct ib_cq *cq, struct ib_udata *udata)
{
	return 0;
}

static int simrnic_poll_cq(struct ib_cq *cq, int count, struct ib_wc *wc)
{
	return 0;
}

static int simrnic_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	return 0;
}

static int simrnic_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct simrnic_ibdev *ibdev = container_of(ib->device, struct simrnic_ibdev, ib);
	struct simrnic_qp *qp = container_of(ib, struct simrnic_qp, ib);

	ib->qp_num = atomic_inc_return(&ibdev->next_qpn) & 0xffffff;
	qp->attr.qp_state = IB_QPS_RESET;
	qp->attr.cap = init->cap;
	return 0;
}

static int simrnic_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
			     struct ib_udata *udata)
{
	struct simrnic_qp *qp = container_of(ib, struct simrnic_qp, ib);

	if (mask & IB_QP_STATE)
		qp->attr.qp_state = attr->qp_state;
	if (mask & IB_QP_DEST_QPN)
		qp->attr.dest_qp_num = attr->dest_qp_num;
	return 0;
}

static int simrnic_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
			    struct ib_qp_init_attr *init)
{
	struct simrnic_qp *qp = container_of(ib, struct simrnic_qp, ib);

	*attr = qp->attr;
	init->cap = qp->attr.cap;
	return 0;
}

static int simrnic_destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	return 0;
}

static int simrnic_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			     const struct ib_send_wr **bad)
{
	*bad = wr;
	return -EOPNOTSUPP;
}

static int simrnic_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			     const struct ib_recv_wr **bad)
{
	*bad = wr;
	return -EOPNOTSUPP;
}

/* The core hides a device from all its kernel users if one of the mandatory verbs is missing. */
static const struct ib_device_ops simrnic_ib_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.uverbs_abi_ver = 1,
	.add_gid = simrnic_add_gid,
	.alloc_hw_port_stats = simrnic_alloc_hw_port_stats,
	.alloc_pd = simrnic_alloc_pd,
	.alloc_ucontext = simrnic_alloc_ucontext,
	.create_cq = simrnic_create_cq,
	.create_qp = simrnic_create_qp,
	.dealloc_pd = simrnic_dealloc_pd,
	.dealloc_ucontext = simrnic_dealloc_ucontext,
	.del_gid = simrnic_del_gid,
	.dereg_mr = simrnic_dereg_mr,
	.destroy_cq = simrnic_destroy_cq,
	.destroy_qp = simrnic_destroy_qp,
	.disassociate_ucontext = simrnic_disassociate_ucontext,
	.get_dev_fw_str = simrnic_get_dev_fw_str,
	.get_dma_mr = simrnic_get_dma_mr,
	.get_hw_stats = simrnic_get_hw_stats,
	.get_link_layer = simrnic_get_link_layer,
	.get_port_immutable = simrnic_get_port_immutable,
	.modify_qp = simrnic_modify_qp,
	.poll_cq = simrnic_poll_cq,
	.post_recv = simrnic_post_recv,
	.post_send = simrnic_post_send,
	.process_mad = simrnic_process_mad,
	.query_device = simrnic_query_device,
	.query_pkey = simrnic_query_pkey,
	.query_port = simrnic_query_port,
	.query_qp = simrnic_query_qp,
	.reg_user_mr = simrnic_reg_user_mr,
	.req_notify_cq = simrnic_req_notify_cq,
	INIT_RDMA_OBJ_SIZE(ib_cq, simrnic_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, simrnic_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, simrnic_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, simrnic_ucontext, ib),
};

int simrnic_rdma_create(struct simrnic_func *func)
{
	struct simrnic_ibdev *ibdev;
	char name[IB_DEVICE_NAME_MAX];
	int err;

	ibdev = ib_alloc_device(simrnic_ibdev, ib);
	if (!ibdev)
		return -ENOMEM;
	ibdev->func = func;
	atomic_set(&ibdev->next_qpn, 0x100);
	ibdev->ib.phys_port_cnt = 1;
	ibdev->ib.node_type = RDMA_NODE_IB_CA;
	ibdev->ib.num_comp_vectors = 1;
	ibdev->ib.dev.parent = &func->pdev->dev;
	addrconf_addr_eui48((u8 *)&ibdev->ib.node_guid, func->netdev->perm_addr);
	ib_set_device_ops(&ibdev->ib, &simrnic_ib_ops);
	err = ib_device_set_netdev(&ibdev->ib, func->netdev, 1);
	if (err)
		goto err_dealloc;
	simrnic_func_name(func, "roce", name, sizeof(name));
	err = ib_register_device(&ibdev->ib, name, NULL);
	if (err)
		goto err_dealloc;
	rtnl_lock();
	func->ibdev = &ibdev->ib;
	simrnic_rdma_update_link(func);
	rtnl_unlock();
	return 0;

err_dealloc:
	ib_dealloc_device(&ibdev->ib);
	return err;
}

void simrnic_rdma_destroy(struct simrnic_func *func)
{
	struct ib_device *ib = func->ibdev;

	/* Not under RTNL together with what follows: the GID table's cleanup takes RTNL itself. */
	rtnl_lock();
	func->ibdev = NULL;
	rtnl_unlock();
	ib_unregister_device(ib);
	ib_dealloc_device(ib);
}
