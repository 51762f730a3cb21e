// SPDX-License-Identifier: GPL-2.0
/* The sending side of a reliable connection: its requests. Runs under simrnic_engine.lock. */
#include <linux/minmax.h>
#include "simrnic_engine.h"

#define SIMRNIC_WINDOW	     64 /* packets without an acknowledgement */
#define SIMRNIC_ACK_INTERVAL 16
#define SIMRNIC_OPCODE_ONLY  4 /* added to the opcode of a message's first packet */
#define SIMRNIC_OPCODE_LAST  2

/* Extension headers of a request, before its payload. */
struct simrnic_extension {
	unsigned int length;
	u8 data[sizeof(struct simrnic_atomic_eth)];
};

static bool simrnic_has_immediate(const struct rxe_send_wqe *wqe)
{
	return wqe->wr.opcode == IB_WR_SEND_WITH_IMM || wqe->wr.opcode == IB_WR_RDMA_WRITE_WITH_IMM;
}

static void simrnic_extend(struct simrnic_extension *extension, const void *data, size_t length)
{
	memcpy(extension->data + extension->length, data, length);
	extension->length += length;
}

static void simrnic_add_reth(struct simrnic_extension *extension, const struct rxe_send_wqe *wqe,
			     u32 skip)
{
	const struct simrnic_reth reth = {
		.addr = cpu_to_be64(wqe->wr.wr.rdma.remote_addr + skip),
		.key = cpu_to_be32(wqe->wr.wr.rdma.rkey),
		.length = cpu_to_be32(wqe->dma.length - skip),
	};

	simrnic_extend(extension, &reth, sizeof(reth));
}

static void simrnic_add_atomic(struct simrnic_extension *extension, const struct rxe_send_wqe *wqe)
{
	bool swap = wqe->wr.opcode == IB_WR_ATOMIC_CMP_AND_SWP;
	const struct simrnic_atomic_eth eth = {
		.addr = cpu_to_be64(wqe->wr.wr.atomic.remote_addr),
		.key = cpu_to_be32(wqe->wr.wr.atomic.rkey),
		.swap_add =
			cpu_to_be64(swap ? wqe->wr.wr.atomic.swap : wqe->wr.wr.atomic.compare_add),
		.compare = cpu_to_be64(swap ? wqe->wr.wr.atomic.compare_add : 0),
	};

	simrnic_extend(extension, &eth, sizeof(eth));
}

/* Sends and writes: the opcode says where in the message the packet is. */
static u8 simrnic_message_opcode(const struct rxe_send_wqe *wqe, u32 psn)
{
	bool write =
		wqe->wr.opcode == IB_WR_RDMA_WRITE || wqe->wr.opcode == IB_WR_RDMA_WRITE_WITH_IMM;
	u8 opcode = write ? IB_OPCODE_RDMA_WRITE_FIRST : IB_OPCODE_SEND_FIRST;

	if (psn != wqe->last_psn)
		return psn == wqe->first_psn ? opcode : opcode + 1;
	opcode += psn == wqe->first_psn ? SIMRNIC_OPCODE_ONLY : SIMRNIC_OPCODE_LAST;
	return opcode + simrnic_has_immediate(wqe);
}

/* The request's headers. Returns the length of its payload. */
static unsigned int simrnic_describe(const struct simrnic_engine *engine,
				     const struct rxe_send_wqe *wqe, u32 psn, struct simrnic_tx *tx,
				     struct simrnic_extension *extension)
{
	u32 skip = simrnic_psn_compare(psn, wqe->first_psn) * engine->mtu;
	bool last = psn == wqe->last_psn;

	if (wqe->wr.opcode == IB_WR_RDMA_READ) {
		tx->opcode = IB_OPCODE_RDMA_READ_REQUEST;
		simrnic_add_reth(extension, wqe, skip);
		return 0;
	}
	if (simrnic_is_atomic(wqe)) {
		tx->opcode = wqe->wr.opcode == IB_WR_ATOMIC_CMP_AND_SWP ? IB_OPCODE_COMPARE_SWAP
									: IB_OPCODE_FETCH_ADD;
		simrnic_add_atomic(extension, wqe);
		return 0;
	}
	tx->opcode = simrnic_message_opcode(wqe, psn);
	tx->ack_request = last || !(psn % SIMRNIC_ACK_INTERVAL);
	tx->solicited = last && wqe->wr.send_flags & IB_SEND_SOLICITED;
	if (psn == wqe->first_psn && tx->opcode >= IB_OPCODE_RDMA_WRITE_FIRST)
		simrnic_add_reth(extension, wqe, 0);
	if (last && simrnic_has_immediate(wqe))
		simrnic_extend(extension, &wqe->wr.ex.imm_data, sizeof(__be32));
	return min_t(u32, wqe->dma.length - skip, engine->mtu);
}

static enum ib_wc_status simrnic_transmit(struct simrnic_engine *engine,
					  const struct rxe_send_wqe *wqe, u32 psn)
{
	struct simrnic_extension extension = {};
	struct simrnic_tx tx = { .psn = psn };
	unsigned int payload = simrnic_describe(engine, wqe, psn, &tx, &extension);
	struct sk_buff *skb = simrnic_packet_new(extension.length + payload, GFP_KERNEL);
	enum ib_wc_status status;

	if (!skb)
		return IB_WC_GENERAL_ERR;
	memcpy(skb->data, extension.data, extension.length);
	status = simrnic_read_payload(engine, wqe,
				      (u64)simrnic_psn_compare(psn, wqe->first_psn) * engine->mtu,
				      skb->data + extension.length, payload);
	if (status == IB_WC_SUCCESS)
		simrnic_engine_transmit(engine, &engine->path, skb, &tx);
	else
		kfree_skb(skb);
	return status;
}

/* Sending */

static u32 simrnic_check_opcode(const struct rxe_send_wqe *wqe)
{
	switch (wqe->wr.opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
		return IB_WC_SUCCESS;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return wqe->dma.length == sizeof(u64) ? IB_WC_SUCCESS : IB_WC_LOC_LEN_ERR;
	default:
		return IB_WC_LOC_QP_OP_ERR;
	}
}

static bool simrnic_prepare(struct simrnic_engine *engine)
{
	struct simrnic_requester *req = &engine->req;
	struct rxe_send_wqe *wqe = simrnic_send_slot(engine, req->index);
	u32 packets;

	if (!simrnic_fetch_send(engine))
		return false;
	if (wqe->status == IB_WC_SUCCESS)
		wqe->status = simrnic_check_opcode(wqe);
	packets = simrnic_is_query(wqe) && wqe->wr.opcode != IB_WR_RDMA_READ
			  ? 1
			  : max(1U, DIV_ROUND_UP(wqe->dma.length, engine->mtu));
	wqe->first_psn = req->next_psn;
	wqe->last_psn = simrnic_psn_add(wqe->first_psn, packets - 1);
	req->next_psn = simrnic_psn_add(wqe->last_psn, 1);
	return true;
}

static bool simrnic_must_wait(const struct simrnic_engine *engine, const struct rxe_send_wqe *wqe)
{
	const struct simrnic_requester *req = &engine->req;

	if (req->rnr_wait || simrnic_psn_compare(req->psn, req->una) >= SIMRNIC_WINDOW)
		return true;
	if (simrnic_is_query(wqe) && req->reads >= max_t(u8, engine->qp->attr.max_rd_atomic, 1))
		return true;
	return wqe->wr.send_flags & IB_SEND_FENCE && req->reads;
}

/* Sends one packet. False: nothing can be sent now. */
bool simrnic_request_next(struct simrnic_engine *engine)
{
	struct simrnic_requester *req = &engine->req;
	bool idle = req->una == req->psn;
	struct rxe_send_wqe *wqe;

	if (engine->qp->attr.qp_state != IB_QPS_RTS || !engine->sq ||
	    (req->index == req->fetched && !simrnic_prepare(engine)))
		return false;
	wqe = simrnic_send_slot(engine, req->index);
	if (simrnic_must_wait(engine, wqe))
		return false;
	if (wqe->status == IB_WC_SUCCESS)
		wqe->status = simrnic_transmit(engine, wqe, req->psn);
	if (wqe->status != IB_WC_SUCCESS) {
		/* Completions keep their order, so this one waits for those before it. */
		if (req->index == req->done)
			simrnic_request_fail(engine, wqe->status);
		return false;
	}
	if (simrnic_is_query(wqe)) {
		req->psn = wqe->last_psn;
		req->reads++;
	}
	if (req->psn == wqe->last_psn)
		req->index = (req->index + 1) & engine->sq->mask;
	req->psn = simrnic_psn_add(req->psn, 1);
	if (simrnic_psn_compare(req->psn, req->max_psn) > 0)
		req->max_psn = req->psn;
	if (idle)
		simrnic_request_restart_timer(engine);
	return true;
}
