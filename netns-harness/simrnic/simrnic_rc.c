// SPDX-License-Identifier: GPL-2.0
/*
 * Reliable connections between InfiniBand ports, as far as IPoIB's connected mode needs them: only
 * sends. When its turn on the wire comes, a message goes straight from the sender's buffers to the
 * receiver's. Nothing is lost or repeated. If a message cannot arrive, the connection ends at
 * once, as if all retries had failed.
 *
 * Everything except posting runs under simrnic_queue_lock.
 */
#include <linux/minmax.h>
#include "simrnic_rdma.h"

static bool simrnic_rc_leads_to(const struct simrnic_qp *qp, const struct simrnic_qp *other)
{
	return qp->attr.dest_qp_num == other->ib.qp_num &&
	       rdma_ah_get_dlid(&qp->attr.ah_attr) == simrnic_func_of(other->ib.device)->lid;
}

static bool simrnic_rc_connected(const struct simrnic_qp *from, const struct simrnic_qp *to)
{
	return to->ib.qp_type == IB_QPT_RC && simrnic_can_receive(to) &&
	       simrnic_rc_leads_to(from, to) && simrnic_rc_leads_to(to, from) &&
	       simrnic_reaches(simrnic_func_of(from->ib.device), simrnic_func_of(to->ib.device)) &&
	       simrnic_same_partition(simrnic_qp_pkey(from), simrnic_qp_pkey(to));
}

static struct simrnic_qp *simrnic_rc_peer(const struct simrnic_qp *qp)
{
	struct simrnic_qp *peer;

	list_for_each_entry(peer, &simrnic_qps, all)
		if (simrnic_rc_connected(qp, peer))
			return peer;
	return NULL;
}

/* The sender's other requests complete after the failed one. */
static void simrnic_rc_fail(struct simrnic_wqe *wqe, struct ib_cq *cq, enum ib_wc_status status)
{
	struct simrnic_qp *qp = wqe->qp;

	simrnic_complete(wqe, cq, status);
	simrnic_qp_fail(qp);
	simrnic_rc_wake(qp);
}

static void simrnic_rc_count(struct simrnic_func *from, struct simrnic_func *to,
			     unsigned int length)
{
	unsigned int packets = max(1U, DIV_ROUND_UP(length, SIMRNIC_IB_MTU));

	simrnic_count(from, SIMRNIC_TX_RDMA_PACKETS, packets);
	simrnic_count(from, SIMRNIC_TX_RDMA_BYTES, length);
	simrnic_count(to, SIMRNIC_RX_RDMA_PACKETS, packets);
	simrnic_count(to, SIMRNIC_RX_RDMA_BYTES, length);
}

static void simrnic_rc_receive(struct simrnic_wqe *recv, const struct simrnic_wqe *send)
{
	const struct simrnic_func *from = simrnic_func_of(send->qp->ib.device);
	struct simrnic_qp *qp = recv->qp;
	unsigned int at = 0;
	int i;

	for (i = 0; i < send->num_sge; i++) {
		simrnic_scatter(recv, at, (void *)(uintptr_t)send->sge[i].addr,
				send->sge[i].length);
		at += send->sge[i].length;
	}
	recv->wc.opcode = IB_WC_RECV;
	recv->wc.byte_len = at;
	recv->wc.src_qp = send->qp->ib.qp_num;
	recv->wc.slid = from->lid;
	recv->wc.pkey_index = qp->attr.pkey_index;
	recv->wc.sl = rdma_ah_get_sl(&send->qp->attr.ah_attr);
	recv->wc.port_num = 1;
	simrnic_complete(recv, qp->ib.recv_cq, IB_WC_SUCCESS);
}

/*
 * If the receiver has no buffer, the sender waits for one, whatever its number of retries is. On
 * hardware it would wait too, for the credits that a receiver gives with its buffers.
 */
void simrnic_rc_deliver(struct simrnic_wqe *wqe)
{
	struct simrnic_qp *qp = wqe->qp, *peer = simrnic_rc_peer(qp);
	unsigned int length = simrnic_wqe_length(wqe);
	struct simrnic_wqe *recv;

	if (!peer) {
		simrnic_rc_fail(wqe, qp->ib.send_cq, IB_WC_RETRY_EXC_ERR);
		return;
	}
	recv = list_first_entry_or_null(&peer->recv, struct simrnic_wqe, list);
	if (!recv) {
		list_move_tail(&wqe->list, &simrnic_rc_waiting);
		return;
	}
	if (simrnic_wqe_length(recv) < length) {
		simrnic_rc_fail(recv, peer->ib.recv_cq, IB_WC_LOC_LEN_ERR);
		simrnic_rc_fail(wqe, qp->ib.send_cq, IB_WC_REM_INV_REQ_ERR);
		return;
	}
	simrnic_rc_receive(recv, wqe);
	simrnic_rc_count(simrnic_func_of(qp->ib.device), simrnic_func_of(peer->ib.device), length);
	simrnic_complete(wqe, qp->ib.send_cq, IB_WC_SUCCESS);
}

/* A QP has changed, so all senders that wait for it try again. */
void simrnic_rc_wake(const struct simrnic_qp *qp)
{
	if (qp->ib.qp_type != IB_QPT_RC || list_empty(&simrnic_rc_waiting))
		return;
	list_splice_init(&simrnic_rc_waiting, &simrnic_wire_queue);
	simrnic_run_wire();
}

/* The sender owns the buffers until the completion, so their contents need not be copied. */
int simrnic_rc_send(struct simrnic_qp *qp, const struct ib_send_wr *wr)
{
	struct simrnic_wqe *wqe;
	unsigned long flags;
	int err = 0;

	if (wr->opcode != IB_WR_SEND || wr->send_flags & IB_SEND_INLINE)
		return -EOPNOTSUPP;
	wqe = simrnic_wqe_new(qp, wr->wr_id, wr->sg_list, wr->num_sge);
	if (!wqe)
		return -ENOMEM;
	wqe->silent = !qp->signal_all && !(wr->send_flags & IB_SEND_SIGNALED);
	wqe->wc.opcode = IB_WC_SEND;

	spin_lock_irqsave(&simrnic_queue_lock, flags);
	if (qp->attr.qp_state == IB_QPS_RTS) {
		list_add_tail(&wqe->list, &simrnic_wire_queue);
	} else if (qp->attr.qp_state == IB_QPS_ERR) {
		simrnic_complete(wqe, qp->ib.send_cq, IB_WC_WR_FLUSH_ERR);
	} else {
		simrnic_wqe_free(wqe);
		err = -EINVAL;
	}
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
	simrnic_run_wire();
	return err;
}
