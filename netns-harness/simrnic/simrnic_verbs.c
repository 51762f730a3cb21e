// SPDX-License-Identifier: GPL-2.0
/* Objects of RDMA devices: contexts, protection domains, memory regions, queues. */
#include <linux/slab.h>
#include "simrnic_rdma.h"
#include "simrnic_compat.h"

static int simrnic_alloc_ucontext(struct ib_ucontext *ucontext, struct ib_udata *udata)
{
	return 0;
}

static void simrnic_dealloc_ucontext(struct ib_ucontext *ucontext)
{
}

/* No user has a mapping that must be removed. */
static void simrnic_disassociate_ucontext(struct ib_ucontext *ucontext)
{
}

/* Only devices with this operation can change namespaces. */
const struct ib_device_ops simrnic_movable_ops = {
	.disassociate_ucontext = simrnic_disassociate_ucontext,
};

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
					 int access,
					 SIMRNIC_DMAH(struct ib_dmah *dmah) struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static int simrnic_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	kfree(mr);
	return 0;
}

static int simrnic_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
			     struct uverbs_attr_bundle *attrs)
{
	INIT_LIST_HEAD(&container_of(ib, struct simrnic_cq, ib)->done);
	ib->cqe = attr->cqe;
	return 0;
}

static int simrnic_destroy_cq(struct ib_cq *cq, struct ib_udata *udata)
{
	return 0;
}

static int simrnic_poll_cq(struct ib_cq *cq, int count, struct ib_wc *wc)
{
	return simrnic_cq_poll(container_of(cq, struct simrnic_cq, ib), count, wc);
}

static int simrnic_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags notify)
{
	struct simrnic_cq *cq = container_of(ib, struct simrnic_cq, ib);
	unsigned long flags;
	bool missed;

	spin_lock_irqsave(&simrnic_queue_lock, flags);
	cq->armed = true;
	missed = !list_empty(&cq->done);
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
	return notify & IB_CQ_REPORT_MISSED_EVENTS && missed;
}

/* Management has fixed numbers. */
static u32 simrnic_new_qpn(struct ib_qp *qp)
{
	struct simrnic_ibdev *ibdev = container_of(qp->device, struct simrnic_ibdev, ib);

	switch (qp->qp_type) {
	case IB_QPT_SMI:
		return 0;
	case IB_QPT_GSI:
		return 1;
	default:
		return atomic_inc_return(&ibdev->next_qpn) & 0xffffff;
	}
}

static int simrnic_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct simrnic_qp *qp = container_of(ib, struct simrnic_qp, ib);

	ib->qp_num = simrnic_new_qpn(ib);
	qp->attr.qp_state = IB_QPS_RESET;
	qp->attr.cap = init->cap;
	qp->signal_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	INIT_LIST_HEAD(&qp->recv);
	INIT_LIST_HEAD(&qp->groups);
	simrnic_qp_add(qp);
	return 0;
}

static int simrnic_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
			     struct ib_udata *udata)
{
	struct simrnic_qp *qp = container_of(ib, struct simrnic_qp, ib);

	if (mask & IB_QP_PKEY_INDEX)
		WRITE_ONCE(qp->attr.pkey_index, attr->pkey_index);
	if (mask & IB_QP_QKEY)
		WRITE_ONCE(qp->attr.qkey, attr->qkey);
	if (mask & IB_QP_DEST_QPN)
		qp->attr.dest_qp_num = attr->dest_qp_num;
	if (mask & IB_QP_AV) {
		qp->attr.ah_attr = attr->ah_attr;
		qp->attr.ah_attr.grh.sgid_attr = NULL; /* owned by the core */
	}
	if (mask & IB_QP_STATE)
		simrnic_qp_set_state(qp, attr->qp_state);
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

static int simrnic_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	simrnic_qp_remove(container_of(ib, struct simrnic_qp, ib));
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

/* If a mandatory verb is missing, the core hides the device from all kernel users. */
const struct ib_device_ops simrnic_object_ops = {
	.alloc_pd = simrnic_alloc_pd,
	.alloc_ucontext = simrnic_alloc_ucontext,
	.create_cq = simrnic_create_cq,
	.create_qp = simrnic_create_qp,
	.dealloc_pd = simrnic_dealloc_pd,
	.dealloc_ucontext = simrnic_dealloc_ucontext,
	.dereg_mr = simrnic_dereg_mr,
	.destroy_cq = simrnic_destroy_cq,
	.destroy_qp = simrnic_destroy_qp,
	.get_dma_mr = simrnic_get_dma_mr,
	.modify_qp = simrnic_modify_qp,
	.poll_cq = simrnic_poll_cq,
	.post_recv = simrnic_post_recv,
	.post_send = simrnic_post_send,
	.query_qp = simrnic_query_qp,
	.reg_user_mr = simrnic_reg_user_mr,
	.req_notify_cq = simrnic_req_notify_cq,
	INIT_RDMA_OBJ_SIZE(ib_cq, simrnic_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, simrnic_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, simrnic_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, simrnic_ucontext, ib),
};
