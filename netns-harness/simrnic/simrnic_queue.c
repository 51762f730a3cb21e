// SPDX-License-Identifier: GPL-2.0
/*
 * Queues of RDMA devices. A work request goes from a queue pair, over the wire if it sends, to a
 * completion queue.
 */
#include <linux/slab.h>
#include <rdma/ib_user_verbs.h>
#include "simrnic_engine.h"

/* Protects all queues and the delivery. While it is held, no packet is partly delivered. */
DEFINE_SPINLOCK(simrnic_queue_lock);
LIST_HEAD(simrnic_qps);
LIST_HEAD(simrnic_wire_queue);
LIST_HEAD(simrnic_rc_waiting); /* its turn came while its receiver had no buffer */

struct simrnic_wqe *simrnic_wqe_new(struct simrnic_qp *qp, u64 wr_id, const struct ib_sge *sge,
				    int num_sge)
{
	struct simrnic_wqe *wqe = kzalloc(struct_size(wqe, sge, num_sge), GFP_ATOMIC);

	if (!wqe)
		return NULL;
	INIT_LIST_HEAD(&wqe->list);
	wqe->qp = qp;
	wqe->wc.wr_id = wr_id;
	wqe->num_sge = num_sge;
	memcpy(wqe->sge, sge, flex_array_size(wqe, sge, num_sge));
	return wqe;
}

void simrnic_wqe_free(struct simrnic_wqe *wqe)
{
	list_del(&wqe->list);
	kfree(wqe->packet);
	kfree(wqe);
}

unsigned int simrnic_wqe_length(const struct simrnic_wqe *wqe)
{
	unsigned int length = 0;
	int i;

	for (i = 0; i < wqe->num_sge; i++)
		length += wqe->sge[i].length;
	return length;
}

void simrnic_scatter(const struct simrnic_wqe *wqe, unsigned int skip, const void *data,
		     unsigned int length)
{
	unsigned int part;
	int i;

	for (i = 0; i < wqe->num_sge && length; i++) {
		const struct ib_sge *sge = &wqe->sge[i];

		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		part = min(length, sge->length - skip);
		memcpy((void *)(uintptr_t)sge->addr + skip, data, part);
		data += part;
		length -= part;
		skip = 0;
	}
}

void simrnic_complete(struct simrnic_wqe *wqe, struct ib_cq *ib, enum ib_wc_status status)
{
	struct simrnic_cq *cq = container_of(ib, struct simrnic_cq, ib);

	if (wqe->silent && status == IB_WC_SUCCESS) {
		simrnic_wqe_free(wqe);
		return;
	}
	wqe->wc.status = status;
	wqe->wc.qp = &wqe->qp->ib;
	list_move_tail(&wqe->list, &cq->done);
	if (!cq->armed)
		return;
	cq->armed = false;
	cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

static void simrnic_fill_user_wc(struct ib_uverbs_wc *to, const struct ib_wc *wc, u32 qpn)
{
	memset(to, 0, sizeof(*to));
	to->wr_id = wc->wr_id;
	to->status = wc->status;
	to->opcode = wc->opcode;
	to->byte_len = wc->byte_len;
	to->ex.imm_data = wc->ex.imm_data;
	to->qp_num = qpn;
	to->src_qp = wc->src_qp;
	to->wc_flags = wc->wc_flags;
	to->pkey_index = wc->pkey_index;
	to->slid = wc->slid;
	to->sl = wc->sl;
	to->port_num = wc->port_num;
}

void simrnic_user_complete(struct simrnic_qp *qp, struct ib_cq *ib, const struct ib_wc *wc,
			   bool solicited)
{
	struct simrnic_cq *cq = container_of(ib, struct simrnic_cq, ib);
	struct ib_event event = { .device = ib->device,
				  .event = IB_EVENT_CQ_ERR,
				  .element.cq = ib };
	unsigned long flags;
	bool full;

	spin_lock_irqsave(&simrnic_queue_lock, flags);
	full = simrnic_ring_full(cq->ring);
	if (!full) {
		simrnic_fill_user_wc(simrnic_ring_slot(cq->ring, cq->ring->index), wc,
				     qp->ib.qp_num);
		simrnic_ring_produce(cq->ring);
	}
	if (cq->armed && (!cq->solicited || solicited || wc->status != IB_WC_SUCCESS)) {
		cq->armed = false;
		ib->comp_handler(ib, ib->cq_context);
	}
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
	if (full && ib->event_handler)
		ib->event_handler(&event, ib->cq_context);
}

int simrnic_cq_poll(struct simrnic_cq *cq, int count, struct ib_wc *wc)
{
	struct simrnic_wqe *wqe, *next;
	unsigned long flags;
	int polled = 0;

	spin_lock_irqsave(&simrnic_queue_lock, flags);
	list_for_each_entry_safe(wqe, next, &cq->done, list) {
		if (polled == count)
			break;
		wc[polled++] = wqe->wc;
		simrnic_wqe_free(wqe);
	}
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
	return polled;
}

static void simrnic_purge_list(struct list_head *list, const struct simrnic_qp *qp)
{
	struct simrnic_wqe *wqe, *next;

	list_for_each_entry_safe(wqe, next, list, list)
		if (wqe->qp == qp)
			simrnic_wqe_free(wqe);
}

static void simrnic_purge_cq(struct ib_cq *cq, const struct simrnic_qp *qp)
{
	if (cq)
		simrnic_purge_list(&container_of(cq, struct simrnic_cq, ib)->done, qp);
}

/* Reset and destruction drop all work requests without a completion. */
static void simrnic_qp_purge(struct simrnic_qp *qp)
{
	simrnic_purge_list(&qp->recv, qp);
	simrnic_purge_list(&simrnic_rc_waiting, qp);
	simrnic_purge_list(&simrnic_wire_queue, qp);
	simrnic_purge_cq(qp->ib.send_cq, qp);
	simrnic_purge_cq(qp->ib.recv_cq, qp);
}

static void simrnic_flush_list(struct list_head *list, const struct simrnic_qp *qp,
			       struct ib_cq *cq)
{
	struct simrnic_wqe *wqe, *next;

	list_for_each_entry_safe(wqe, next, list, list)
		if (wqe->qp == qp)
			simrnic_complete(wqe, cq, IB_WC_WR_FLUSH_ERR);
}

/*
 * In the error state posted requests complete with an error, except datagrams on the wire, which
 * arrive.
 */
void simrnic_qp_fail(struct simrnic_qp *qp)
{
	qp->attr.qp_state = IB_QPS_ERR;
	simrnic_flush_list(&qp->recv, qp, qp->ib.recv_cq);
	if (qp->ib.qp_type != IB_QPT_RC)
		return;
	simrnic_flush_list(&simrnic_rc_waiting, qp, qp->ib.send_cq);
	simrnic_flush_list(&simrnic_wire_queue, qp, qp->ib.send_cq);
}

/* Bottom halves are disabled, as in delivery. */
void simrnic_qp_set_state(struct simrnic_qp *qp, enum ib_qp_state state)
{
	unsigned long flags;

	local_bh_disable();
	spin_lock_irqsave(&simrnic_queue_lock, flags);
	qp->attr.qp_state = state;
	if (state == IB_QPS_ERR)
		simrnic_qp_fail(qp);
	else if (state == IB_QPS_RESET)
		simrnic_qp_purge(qp);
	simrnic_rc_wake(qp);
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
	local_bh_enable();
}

void simrnic_qp_add(struct simrnic_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&simrnic_queue_lock, flags);
	list_add_tail(&qp->all, &simrnic_qps);
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
}

void simrnic_qp_remove(struct simrnic_qp *qp)
{
	struct simrnic_group *group, *next;
	unsigned long flags;

	spin_lock_irqsave(&simrnic_queue_lock, flags);
	simrnic_qp_purge(qp);
	list_del(&qp->all);
	list_for_each_entry_safe(group, next, &qp->groups, list) {
		list_del(&group->list);
		kfree(group);
	}
	simrnic_rc_wake(qp);
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
}
