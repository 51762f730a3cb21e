// SPDX-License-Identifier: GPL-2.0
/* Engines of queue pairs: creation, destruction, state changes. */
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>
#include "simrnic_engine.h"

static int simrnic_engine_sizes(struct simrnic_engine *engine, struct ib_qp_cap *cap)
{
	size_t inline_room =
		max_t(size_t, cap->max_send_sge * sizeof(struct rxe_sge), cap->max_inline_data);

	if (cap->max_send_sge > SIMRNIC_MAX_SGE || cap->max_recv_sge > SIMRNIC_MAX_SGE ||
	    cap->max_inline_data > SIMRNIC_MAX_INLINE || cap->max_send_wr > SIMRNIC_MAX_WR ||
	    cap->max_recv_wr > SIMRNIC_MAX_WR)
		return -EINVAL;
	cap->max_inline_data = inline_room;
	engine->max_inline = inline_room;
	engine->max_send_sge = cap->max_send_sge;
	engine->max_recv_sge = cap->max_recv_sge;
	return 0;
}

static int simrnic_engine_rings(struct simrnic_engine *engine, struct ib_qp_cap *cap,
				struct ib_udata *udata)
{
	struct simrnic_ucontext *context =
		rdma_udata_to_drv_context(udata, struct simrnic_ucontext, ib);
	size_t send_size = sizeof(struct rxe_send_wqe) + engine->max_inline;
	size_t recv_size = sizeof(struct rxe_recv_wqe) + cap->max_recv_sge * sizeof(struct rxe_sge);
	struct rxe_create_qp_resp answer = {};

	engine->sq = simrnic_ring_create(&context->ib, cap->max_send_wr, send_size, &answer.sq_mi);
	if (IS_ERR(engine->sq))
		return PTR_ERR(engine->sq);
	engine->rq = simrnic_ring_create(&context->ib, cap->max_recv_wr, recv_size, &answer.rq_mi);
	if (IS_ERR(engine->rq))
		return PTR_ERR(engine->rq);
	engine->sends = kvcalloc(engine->sq->mask + 1, 1 << engine->sq->shift, GFP_KERNEL);
	engine->recv = kzalloc(1 << engine->rq->shift, GFP_KERNEL);
	if (!engine->sends || !engine->recv)
		return -ENOMEM;
	return ib_copy_to_udata(udata, &answer, min(sizeof(answer), udata->outlen));
}

static void simrnic_engine_free(struct simrnic_engine *engine)
{
	simrnic_ring_destroy(engine->sq);
	simrnic_ring_destroy(engine->rq);
	kvfree(engine->sends);
	kfree(engine->recv);
	kfree(engine);
}

/* udata is NULL for the kernel's own. */
int simrnic_engine_create(struct simrnic_qp *qp, struct ib_qp_init_attr *init,
			  struct ib_udata *udata)
{
	struct simrnic_engine *engine;
	int err;

	if (udata && ((qp->ib.qp_type != IB_QPT_RC && qp->ib.qp_type != IB_QPT_UD) || init->srq))
		return -EOPNOTSUPP;
	engine = kzalloc(sizeof(*engine), GFP_KERNEL);
	if (!engine)
		return -ENOMEM;
	engine->qp = qp;
	simrnic_engine_prepare(engine);
	skb_queue_head_init(&engine->rx);
	skb_queue_head_init(&engine->tx);
	INIT_LIST_HEAD(&engine->sent);
	mutex_init(&engine->lock);
	err = udata ? simrnic_engine_sizes(engine, &init->cap) : 0;
	if (!err && udata)
		err = simrnic_engine_rings(engine, &init->cap, udata);
	if (!err)
		err = simrnic_engine_insert(engine);
	if (err) {
		simrnic_engine_free(engine);
		return err;
	}
	qp->engine = engine;
	return 0;
}

static void simrnic_drop_sent(struct simrnic_engine *engine)
{
	struct simrnic_wqe *wqe, *next;
	unsigned long flags;

	skb_queue_purge(&engine->tx);
	spin_lock_irqsave(&simrnic_queue_lock, flags);
	list_for_each_entry_safe(wqe, next, &engine->sent, list)
		simrnic_wqe_free(wqe);
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
}

void simrnic_engine_destroy(struct simrnic_qp *qp)
{
	struct simrnic_engine *engine = qp->engine;

	simrnic_engine_remove(engine);
	simrnic_wire_purge(engine);
	simrnic_drop_sent(engine);
	qp->engine = NULL;
	simrnic_engine_free(engine);
}

/* States */

static void simrnic_engine_reset(struct simrnic_engine *engine)
{
	simrnic_wire_purge(engine);
	memset(&engine->req, 0, sizeof(engine->req));
	memset(&engine->resp, 0, sizeof(engine->resp));
	if (engine->sq)
		simrnic_ring_reset(engine->sq);
	if (engine->rq)
		simrnic_ring_reset(engine->rq);
}

static void simrnic_engine_set_psns(struct simrnic_engine *engine, const struct ib_qp_attr *attr,
				    int mask)
{
	struct simrnic_requester *req = &engine->req;

	if (mask & IB_QP_RQ_PSN)
		engine->resp.psn = attr->rq_psn & SIMRNIC_PSN_MASK;
	if (!(mask & IB_QP_SQ_PSN))
		return;
	req->una = attr->sq_psn & SIMRNIC_PSN_MASK;
	req->psn = req->una;
	req->max_psn = req->una;
	req->next_psn = req->una;
	req->retries = attr->retry_cnt;
	req->rnr_retries = attr->rnr_retry;
}

int simrnic_engine_modify(struct simrnic_qp *qp, struct ib_qp_attr *attr, int mask)
{
	struct simrnic_engine *engine = qp->engine;
	enum ib_qp_state from = qp->attr.qp_state;
	enum ib_qp_state to = mask & IB_QP_STATE ? attr->qp_state : from;
	int err = -EINVAL;

	mutex_lock(&engine->lock);
	if (!ib_modify_qp_is_ok(from, to, qp->ib.qp_type, mask))
		goto out;
	if (mask & IB_QP_AV) {
		err = simrnic_path_set(&engine->path, &attr->ah_attr, attr->ah_attr.grh.sgid_attr);
		if (err)
			goto out;
	}
	if (mask & IB_QP_PATH_MTU)
		engine->mtu = ib_mtu_enum_to_int(attr->path_mtu);
	simrnic_engine_set_psns(engine, attr, mask);
	simrnic_qp_set_attr(qp, attr, mask);
	if (to == IB_QPS_RESET)
		simrnic_engine_reset(engine);
	err = 0;
out:
	mutex_unlock(&engine->lock);
	if (!err)
		simrnic_engine_run(engine);
	return err;
}
