// SPDX-License-Identifier: GPL-2.0
/* Objects of RDMA devices: contexts, protection domains, queues. */
#include <linux/slab.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include "simrnic_engine.h"
#include "simrnic_compat.h"

#define SIMRNIC_FIRST_QPN 0x100
#define SIMRNIC_QPNS	  (0xfffffe - SIMRNIC_FIRST_QPN)

static int simrnic_alloc_ucontext(struct ib_ucontext *ucontext, struct ib_udata *udata)
{
	return 0;
}

static void simrnic_dealloc_ucontext(struct ib_ucontext *ucontext)
{
}

/* The mappings of queues stay, see simrnic_ring.c. */
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

static int simrnic_create_ring_of_cq(struct simrnic_cq *cq, const struct ib_cq_init_attr *attr,
				     struct ib_udata *udata)
{
	struct simrnic_ucontext *context =
		rdma_udata_to_drv_context(udata, struct simrnic_ucontext, ib);
	struct rxe_create_cq_resp answer = {};
	int err;

	cq->ring = simrnic_ring_create(&context->ib, attr->cqe, sizeof(struct ib_uverbs_wc),
				       &answer.mi);
	if (IS_ERR(cq->ring))
		return PTR_ERR(cq->ring);
	err = ib_copy_to_udata(udata, &answer, min(sizeof(answer), udata->outlen));
	if (err)
		simrnic_ring_destroy(cq->ring);
	return err;
}

static int simrnic_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
			     struct uverbs_attr_bundle *attrs)
{
	struct simrnic_cq *cq = container_of(ib, struct simrnic_cq, ib);
	struct ib_udata *udata = SIMRNIC_UDATA(attrs);

	if (attr->cqe < 1 || attr->cqe > SIMRNIC_MAX_CQE)
		return -EINVAL;
	INIT_LIST_HEAD(&cq->done);
	ib->cqe = attr->cqe;
	return udata ? simrnic_create_ring_of_cq(cq, attr, udata) : 0;
}

static int simrnic_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	simrnic_ring_destroy(container_of(ib, struct simrnic_cq, ib)->ring);
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
	cq->solicited = (notify & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	missed = !list_empty(&cq->done) || (cq->ring && !simrnic_ring_drained(cq->ring));
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
	return notify & IB_CQ_REPORT_MISSED_EVENTS && missed;
}

/* Management has fixed numbers. Others are unique among all devices. */
static u32 simrnic_new_qpn(struct ib_qp *qp)
{
	static atomic_t next = ATOMIC_INIT(SIMRNIC_FIRST_QPN);

	switch (qp->qp_type) {
	case IB_QPT_SMI:
		return 0;
	case IB_QPT_GSI:
		return 1;
	default:
		return SIMRNIC_FIRST_QPN + (u32)atomic_inc_return(&next) % SIMRNIC_QPNS;
	}
}

/*
 * The kernel's own data only moves over InfiniBand, without packets. A second port of a RoCE device
 * has no link, so its management goes nowhere.
 */
static bool simrnic_needs_engine(const struct ib_qp *qp, const struct ib_qp_init_attr *init,
				 const struct ib_udata *udata)
{
	return udata || (qp->qp_type == IB_QPT_GSI && init->port_num == 1 &&
			 simrnic_func_of(qp->device)->netdev);
}

static int simrnic_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct simrnic_qp *qp = container_of(ib, struct simrnic_qp, ib);
	int err;

	ib->qp_num = simrnic_new_qpn(ib);
	qp->attr.qp_state = IB_QPS_RESET;
	qp->attr.cap = init->cap;
	qp->signal_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	INIT_LIST_HEAD(&qp->recv);
	INIT_LIST_HEAD(&qp->groups);
	if (simrnic_needs_engine(ib, init, udata)) {
		err = simrnic_engine_create(qp, init, udata);
		if (err)
			return err;
		qp->attr.cap = init->cap;
	}
	simrnic_qp_add(qp);
	return 0;
}

static void simrnic_set_path_attr(struct simrnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_AV) {
		qp->attr.ah_attr = attr->ah_attr;
		qp->attr.ah_attr.grh.sgid_attr = NULL; /* owned by the core */
	}
	if (mask & IB_QP_PATH_MTU)
		qp->attr.path_mtu = attr->path_mtu;
	if (mask & IB_QP_RQ_PSN)
		qp->attr.rq_psn = attr->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		qp->attr.sq_psn = attr->sq_psn;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		qp->attr.max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		qp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		qp->attr.min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_TIMEOUT)
		qp->attr.timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		qp->attr.retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		qp->attr.rnr_retry = attr->rnr_retry;
}

void simrnic_qp_set_attr(struct simrnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_PKEY_INDEX)
		WRITE_ONCE(qp->attr.pkey_index, attr->pkey_index);
	if (mask & IB_QP_QKEY)
		WRITE_ONCE(qp->attr.qkey, attr->qkey);
	if (mask & IB_QP_PORT)
		qp->attr.port_num = attr->port_num;
	if (mask & IB_QP_ACCESS_FLAGS)
		qp->attr.qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_DEST_QPN)
		qp->attr.dest_qp_num = attr->dest_qp_num;
	simrnic_set_path_attr(qp, attr, mask);
	if (mask & IB_QP_STATE)
		simrnic_qp_set_state(qp, attr->qp_state);
}

static int simrnic_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
			     struct ib_udata *udata)
{
	struct simrnic_qp *qp = container_of(ib, struct simrnic_qp, ib);

	if (qp->engine)
		return simrnic_engine_modify(qp, attr, mask);
	simrnic_qp_set_attr(qp, attr, mask);
	return 0;
}

static int simrnic_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
			    struct ib_qp_init_attr *init)
{
	struct simrnic_qp *qp = container_of(ib, struct simrnic_qp, ib);

	*attr = qp->attr;
	attr->cur_qp_state = attr->qp_state;
	init->cap = qp->attr.cap;
	init->sq_sig_type = qp->signal_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	return 0;
}

static int simrnic_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct simrnic_qp *qp = container_of(ib, struct simrnic_qp, ib);

	if (qp->engine)
		simrnic_engine_destroy(qp);
	simrnic_qp_remove(qp);
	return 0;
}

/* If a mandatory verb is missing, the core hides the device from all kernel users. */
const struct ib_device_ops simrnic_object_ops = {
	.alloc_pd = simrnic_alloc_pd,
	.alloc_ucontext = simrnic_alloc_ucontext,
	.create_cq = simrnic_create_cq,
	.create_qp = simrnic_create_qp,
	.dealloc_pd = simrnic_dealloc_pd,
	.dealloc_ucontext = simrnic_dealloc_ucontext,
	.destroy_cq = simrnic_destroy_cq,
	.destroy_qp = simrnic_destroy_qp,
	.mmap = simrnic_mmap,
	.mmap_free = simrnic_mmap_free,
	.modify_qp = simrnic_modify_qp,
	.poll_cq = simrnic_poll_cq,
	.query_qp = simrnic_query_qp,
	.req_notify_cq = simrnic_req_notify_cq,
	INIT_RDMA_OBJ_SIZE(ib_cq, simrnic_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, simrnic_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, simrnic_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, simrnic_ucontext, ib),
};
