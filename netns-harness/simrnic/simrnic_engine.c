// SPDX-License-Identifier: GPL-2.0
/* Engines of queue pairs: creation, state changes, arriving packets, the work item. */
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/uverbs_ioctl.h>
#include "simrnic_engine.h"
#include "simrnic_compat.h"

#define SIMRNIC_MANAGEMENT_KEYS 0x1000000 /* every device has a queue pair 1 */
#define SIMRNIC_MAX_BACKLOG	8192
#define SIMRNIC_BUDGET		64
#define SIMRNIC_FLUSH_INTERVAL	(HZ / 10)

static DEFINE_XARRAY_FLAGS(simrnic_engines, XA_FLAGS_LOCK_BH | XA_FLAGS_ALLOC);
static struct workqueue_struct *simrnic_engine_queue;

void simrnic_engine_run(struct simrnic_engine *engine)
{
	queue_work(simrnic_engine_queue, &engine->work);
}

static void simrnic_engine_timer(struct timer_list *timer)
{
	simrnic_engine_run(container_of(timer, struct simrnic_engine, timer));
}

void simrnic_engine_start_timer(struct simrnic_engine *engine, unsigned long delay)
{
	engine->req.deadline = jiffies + max(delay, 1UL);
	if (!READ_ONCE(engine->closing))
		mod_timer(&engine->timer, engine->req.deadline);
}

/* Under the lock of simrnic_engines, which keeps the engine alive. */
static struct simrnic_engine *simrnic_engine_find(const struct simrnic_func *func, u32 qpn)
{
	struct simrnic_engine *engine;
	unsigned long key;

	if (qpn != 1) {
		engine = xa_load(&simrnic_engines, qpn);
		return engine && simrnic_func_of(engine->qp->ib.device) == func ? engine : NULL;
	}
	xa_for_each_start(&simrnic_engines, key, engine, SIMRNIC_MANAGEMENT_KEYS)
		if (simrnic_func_of(engine->qp->ib.device) == func)
			return engine;
	return NULL;
}

/* Takes the packet if the function has the queue pair. */
bool simrnic_engine_deliver(struct simrnic_func *func, u32 qpn, struct sk_buff *skb)
{
	struct simrnic_engine *engine;

	xa_lock_bh(&simrnic_engines);
	engine = simrnic_engine_find(func, qpn);
	if (engine && skb_queue_len(&engine->rx) < SIMRNIC_MAX_BACKLOG) {
		skb_queue_tail(&engine->rx, skb);
		simrnic_engine_run(engine);
	} else if (engine) {
		simrnic_count(func, SIMRNIC_RX_DROPPED, 1);
		kfree_skb(skb);
	}
	xa_unlock_bh(&simrnic_engines);
	return engine;
}

bool simrnic_rdma_receive(struct simrnic_func *func, struct sk_buff *skb)
{
	return simrnic_packet_parse(skb) &&
	       simrnic_engine_deliver(func, simrnic_rx(skb)->dqpn, skb);
}

/* A connection only accepts packets of its other end. */
static bool simrnic_from_peer(const struct simrnic_engine *engine, const struct sk_buff *skb)
{
	const struct simrnic_rx *rx = (const struct simrnic_rx *)skb->cb;
	const struct simrnic_path *path = &engine->path;
	union ib_gid sgid, dgid;

	if (rx->network != path->network)
		return false;
	if (rx->network == RDMA_NETWORK_IB)
		return rx->slid == path->dlid;
	simrnic_packet_gids(skb, &sgid, &dgid);
	return !memcmp(&sgid, &path->dgid, sizeof(sgid)) &&
	       !memcmp(&dgid, &path->sgid, sizeof(dgid)) && rx->vlan == path->vlan;
}

static void simrnic_engine_receive(struct simrnic_engine *engine, struct sk_buff *skb)
{
	const struct simrnic_rx *rx = simrnic_rx(skb);
	const struct simrnic_qp *qp = engine->qp;
	const u8 *data = skb->data + rx->bth_offset + sizeof(struct simrnic_bth);

	if (!simrnic_can_receive(qp) ||
	    !simrnic_same_partition(simrnic_pkey(qp->attr.pkey_index), rx->pkey))
		return;
	if (qp->ib.qp_type != IB_QPT_RC) {
		if ((rx->opcode & 0xe0) == IB_OPCODE_UD)
			simrnic_datagram_receive(engine, rx, skb);
		return;
	}
	if ((rx->opcode & 0xe0) != IB_OPCODE_RC || !simrnic_from_peer(engine, skb))
		return;
	if (rx->opcode >= IB_OPCODE_RDMA_READ_RESPONSE_FIRST &&
	    rx->opcode <= IB_OPCODE_ATOMIC_ACKNOWLEDGE)
		simrnic_request_answered(engine, rx, data);
	else
		simrnic_respond(engine, rx, data);
}

static bool simrnic_engine_send(struct simrnic_engine *engine)
{
	switch (engine->qp->ib.qp_type) {
	case IB_QPT_RC:
		return simrnic_request_next(engine);
	default:
		return simrnic_datagram_next(engine);
	}
}

static void simrnic_engine_work(struct work_struct *work)
{
	struct simrnic_engine *engine = container_of(work, struct simrnic_engine, work);
	int budget = SIMRNIC_BUDGET;
	struct sk_buff *skb;

	mutex_lock(&engine->lock);
	while (budget-- > 0 && (skb = skb_dequeue(&engine->rx))) {
		simrnic_engine_receive(engine, skb);
		consume_skb(skb);
	}
	if (engine->qp->attr.qp_state == IB_QPS_ERR) {
		/* Posting receive requests does not wake the engine. */
		simrnic_engine_flush(engine);
		simrnic_engine_start_timer(engine, SIMRNIC_FLUSH_INTERVAL);
	} else {
		simrnic_request_timer(engine);
		budget = SIMRNIC_BUDGET;
		while (budget > 0 && simrnic_engine_send(engine))
			budget--;
	}
	mutex_unlock(&engine->lock);
	if (budget <= 0 || !skb_queue_empty(&engine->rx))
		simrnic_engine_run(engine);
}

/* Loses one of N packets with requests or data, if told so. */
static bool simrnic_lose(struct simrnic_port *port, const struct simrnic_tx *tx)
{
	u32 every = READ_ONCE(port->faults.rdma_lose_every);

	return every && tx->dqpn != 1 && tx->opcode != IB_OPCODE_ACKNOWLEDGE &&
	       !(atomic_inc_return(&port->rdma_packets) % every);
}

void simrnic_engine_transmit(struct simrnic_engine *engine, const struct simrnic_path *path,
			     struct sk_buff *skb, struct simrnic_tx *tx)
{
	const struct simrnic_qp *qp = engine->qp;
	struct simrnic_func *func = simrnic_func_of(qp->ib.device);

	if (qp->ib.qp_type == IB_QPT_RC)
		tx->dqpn = qp->attr.dest_qp_num;
	tx->sqpn = qp->ib.qp_num;
	tx->pkey = simrnic_pkey(qp->attr.pkey_index);
	if (simrnic_lose(func->port, tx)) {
		kfree_skb(skb);
		return;
	}
	simrnic_packet_finish(skb, path, tx);
	simrnic_packet_send(func, skb);
}

/* Creation and destruction */

static int simrnic_engine_sizes(struct simrnic_engine *engine, struct ib_qp_cap *cap)
{
	size_t inline_room = max_t(size_t, cap->max_send_sge * sizeof(struct rxe_sge),
				   cap->max_inline_data);

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

	engine->sq =
		simrnic_ring_create(&context->ib, cap->max_send_wr, send_size, &answer.sq_mi);
	if (IS_ERR(engine->sq))
		return PTR_ERR(engine->sq);
	engine->rq =
		simrnic_ring_create(&context->ib, cap->max_recv_wr, recv_size, &answer.rq_mi);
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

static int simrnic_engine_insert(struct simrnic_engine *engine)
{
	u32 qpn = engine->qp->ib.qp_num;

	if (qpn == 1)
		return xa_alloc_bh(&simrnic_engines, &engine->key, engine,
				   XA_LIMIT(SIMRNIC_MANAGEMENT_KEYS, UINT_MAX), GFP_KERNEL);
	engine->key = qpn;
	return xa_insert_bh(&simrnic_engines, qpn, engine, GFP_KERNEL);
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
	INIT_WORK(&engine->work, simrnic_engine_work);
	timer_setup(&engine->timer, simrnic_engine_timer, 0);
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

	xa_erase_bh(&simrnic_engines, engine->key);
	WRITE_ONCE(engine->closing, true);
	cancel_work_sync(&engine->work);
	timer_delete_sync(&engine->timer);
	cancel_work_sync(&engine->work);
	skb_queue_purge(&engine->rx);
	simrnic_drop_sent(engine);
	qp->engine = NULL;
	simrnic_engine_free(engine);
}

/* States */

static void simrnic_engine_reset(struct simrnic_engine *engine)
{
	skb_queue_purge(&engine->rx);
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
		err = simrnic_path_set(&engine->path, &attr->ah_attr,
				       attr->ah_attr.grh.sgid_attr);
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

int simrnic_engine_init(void)
{
	simrnic_engine_queue = alloc_workqueue("simrnic_rdma", WQ_UNBOUND | WQ_HIGHPRI, 0);
	return simrnic_engine_queue ? 0 : -ENOMEM;
}

void simrnic_engine_exit(void)
{
	destroy_workqueue(simrnic_engine_queue);
}
