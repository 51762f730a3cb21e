// SPDX-License-Identifier: GPL-2.0
/*
 * Queues of RDMA devices: work requests on their way from a queue pair, over the wire if they send,
 * to a completion queue.
 */
#include <linux/slab.h>
#include "simrnic_rdma.h"

/* Of all queues, and of delivery: whoever holds it knows that no packet is half-way. */
DEFINE_SPINLOCK(simrnic_queue_lock);
LIST_HEAD(simrnic_qps);
LIST_HEAD(simrnic_wire_queue);

void simrnic_wqe_free(struct simrnic_wqe *wqe)
{
	list_del(&wqe->list);
	kfree(wqe->packet);
	kfree(wqe);
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

/* Reset and destruction forget everything without a completion. */
static void simrnic_qp_purge(struct simrnic_qp *qp)
{
	simrnic_purge_list(&qp->recv, qp);
	simrnic_purge_list(&simrnic_wire_queue, qp);
	simrnic_purge_cq(qp->ib.send_cq, qp);
	simrnic_purge_cq(qp->ib.recv_cq, qp);
}

/* In the error state what was posted for receiving comes back; what is on the wire arrives. */
static void simrnic_qp_flush(struct simrnic_qp *qp)
{
	struct simrnic_wqe *wqe, *next;

	list_for_each_entry_safe(wqe, next, &qp->recv, list)
		simrnic_complete(wqe, qp->ib.recv_cq, IB_WC_WR_FLUSH_ERR);
}

void simrnic_qp_set_state(struct simrnic_qp *qp, enum ib_qp_state state)
{
	unsigned long flags;

	spin_lock_irqsave(&simrnic_queue_lock, flags);
	qp->attr.qp_state = state;
	if (state == IB_QPS_ERR)
		simrnic_qp_flush(qp);
	else if (state == IB_QPS_RESET)
		simrnic_qp_purge(qp);
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
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
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
}
