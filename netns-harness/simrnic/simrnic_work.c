// SPDX-License-Identifier: GPL-2.0
/* The users' work requests and their completions. Runs under simrnic_engine.lock. */
#include "simrnic_engine.h"

static enum ib_wc_opcode simrnic_wc_opcode(u32 opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return IB_WC_RDMA_WRITE;
	case IB_WR_RDMA_READ:
		return IB_WC_RDMA_READ;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return IB_WC_COMP_SWAP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return IB_WC_FETCH_ADD;
	default:
		return IB_WC_SEND;
	}
}

static bool simrnic_is_inline(const struct rxe_send_wqe *wqe)
{
	/* The provider's newer posting functions do not set the flag. */
	return wqe->wr.send_flags & IB_SEND_INLINE || (!wqe->dma.num_sge && wqe->dma.length);
}

/* The length that the provider has computed is wrong for lists, so it counts only inline. */
static void simrnic_set_length(const struct simrnic_engine *engine, struct rxe_send_wqe *wqe)
{
	u64 length = 0;
	u32 i;

	if (simrnic_is_inline(wqe)) {
		wqe->dma.num_sge = 0;
		if (wqe->dma.length > engine->max_inline)
			wqe->status = IB_WC_LOC_LEN_ERR;
		return;
	}
	if (wqe->dma.num_sge > engine->max_send_sge) {
		wqe->status = IB_WC_LOC_QP_OP_ERR;
		return;
	}
	for (i = 0; i < wqe->dma.num_sge; i++)
		length += wqe->dma.sge[i].length;
	if (length > SIMRNIC_MAX_MESSAGE)
		wqe->status = IB_WC_LOC_LEN_ERR;
	else
		wqe->dma.length = length;
}

/* Copies the user's next send request. It may be invalid: then its status says why. */
bool simrnic_fetch_send(struct simrnic_engine *engine)
{
	struct simrnic_requester *req = &engine->req;
	struct simrnic_ring *ring = engine->sq;
	u32 producer = smp_load_acquire(&ring->buf->producer_index) & ring->mask;
	struct rxe_send_wqe *wqe;

	if (req->fetched == producer)
		return false;
	wqe = simrnic_send_slot(engine, req->fetched);
	memcpy(wqe, simrnic_ring_slot(ring, req->fetched), 1 << ring->shift);
	wqe->status = IB_WC_SUCCESS;
	simrnic_set_length(engine, wqe);
	if (wqe->status != IB_WC_SUCCESS)
		wqe->dma.length = 0;
	req->fetched = (req->fetched + 1) & ring->mask;
	return true;
}

bool simrnic_fetch_recv(struct simrnic_engine *engine)
{
	struct simrnic_ring *ring = engine->rq;

	if (simrnic_ring_empty(ring))
		return false;
	memcpy(engine->recv, simrnic_ring_slot(ring, ring->index), 1 << ring->shift);
	engine->recv->dma.num_sge = min(engine->recv->dma.num_sge, engine->max_recv_sge);
	simrnic_ring_consume(ring);
	return true;
}

enum ib_wc_status simrnic_read_payload(struct simrnic_engine *engine,
				       const struct rxe_send_wqe *wqe, u64 skip, void *data,
				       size_t length)
{
	if (!simrnic_is_inline(wqe))
		return simrnic_sge_read(simrnic_pd_of(engine), wqe->dma.sge, wqe->dma.num_sge, skip,
					data, length);
	memcpy(data, wqe->dma.inline_data + skip, length);
	return IB_WC_SUCCESS;
}

/* Completes the oldest send request. */
void simrnic_send_done(struct simrnic_engine *engine, enum ib_wc_status status)
{
	struct simrnic_requester *req = &engine->req;
	const struct rxe_send_wqe *wqe = simrnic_send_slot(engine, req->done);
	struct ib_wc wc = {
		.wr_id = wqe->wr.wr_id,
		.status = status,
		.opcode = simrnic_wc_opcode(wqe->wr.opcode),
		.byte_len = wqe->dma.length,
	};

	/* First the room in the ring: a user may post again as soon as it sees the completion. */
	req->done = (req->done + 1) & engine->sq->mask;
	simrnic_ring_consume(engine->sq);
	if (status != IB_WC_SUCCESS || engine->qp->signal_all ||
	    wqe->wr.send_flags & IB_SEND_SIGNALED)
		simrnic_user_complete(engine->qp, engine->qp->ib.send_cq, &wc, false);
}

/* Completes the receive request in use. */
void simrnic_recv_done(struct simrnic_engine *engine, struct ib_wc *wc, bool solicited)
{
	wc->wr_id = engine->recv->wr_id;
	wc->pkey_index = engine->qp->attr.pkey_index;
	wc->port_num = 1;
	simrnic_user_complete(engine->qp, engine->qp->ib.recv_cq, wc, solicited);
	engine->resp.receiving = false;
}

void simrnic_engine_fail(struct simrnic_engine *engine, enum ib_event_type type)
{
	struct ib_qp *qp = &engine->qp->ib;
	struct ib_event event = { .device = qp->device, .event = type, .element.qp = qp };

	simrnic_qp_set_state(engine->qp, IB_QPS_ERR);
	if (qp->event_handler)
		qp->event_handler(&event, qp->qp_context);
	simrnic_engine_run(engine);
}

/* Everything that is posted in the error state completes with an error too. */
void simrnic_engine_flush(struct simrnic_engine *engine)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR, .opcode = IB_WC_RECV };

	if (!engine->sq)
		return;
	while (engine->req.done != engine->req.fetched || simrnic_fetch_send(engine))
		simrnic_send_done(engine, IB_WC_WR_FLUSH_ERR);
	engine->req.index = engine->req.done;
	while (engine->resp.receiving || simrnic_fetch_recv(engine))
		simrnic_recv_done(engine, &wc, false);
}
