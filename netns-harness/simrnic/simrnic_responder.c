// SPDX-License-Identifier: GPL-2.0
/*
 * The receiving side of a reliable connection: handles requests and sends answers. Runs under
 * simrnic_engine.lock.
 */
#include <linux/minmax.h>
#include "simrnic_engine.h"

#define SIMRNIC_AETH_BYTES 4

/* A part of a message, as its opcode describes it. */
struct simrnic_part {
	bool write;
	bool first;
	bool last;
	bool immediate;
};

static bool simrnic_part_of(u8 opcode, struct simrnic_part *part)
{
	static const struct simrnic_part parts[] = {
		[IB_OPCODE_SEND_FIRST] = { .first = true },
		[IB_OPCODE_SEND_MIDDLE] = {},
		[IB_OPCODE_SEND_LAST] = { .last = true },
		[IB_OPCODE_SEND_LAST_WITH_IMMEDIATE] = { .last = true, .immediate = true },
		[IB_OPCODE_SEND_ONLY] = { .first = true, .last = true },
		[IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE] = { .first = true,
							 .last = true,
							 .immediate = true },
		[IB_OPCODE_RDMA_WRITE_FIRST] = { .write = true, .first = true },
		[IB_OPCODE_RDMA_WRITE_MIDDLE] = { .write = true },
		[IB_OPCODE_RDMA_WRITE_LAST] = { .write = true, .last = true },
		[IB_OPCODE_RDMA_WRITE_LAST_WITH_IMMEDIATE] = { .write = true,
							       .last = true,
							       .immediate = true },
		[IB_OPCODE_RDMA_WRITE_ONLY] = { .write = true, .first = true, .last = true },
		[IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE] = { .write = true,
							       .first = true,
							       .last = true,
							       .immediate = true },
	};

	if (opcode >= ARRAY_SIZE(parts))
		return false;
	*part = parts[opcode];
	return true;
}

/* Without a syndrome (negative), the answer has no acknowledgement in it. */
void simrnic_answer(struct simrnic_engine *engine, u8 opcode, u32 psn, int syndrome,
		    const void *data, unsigned int length)
{
	unsigned int header = syndrome < 0 ? 0 : SIMRNIC_AETH_BYTES;
	struct sk_buff *skb = simrnic_packet_new(header + length, GFP_KERNEL);
	struct simrnic_tx tx = { .opcode = opcode, .psn = psn };
	__be32 aeth = cpu_to_be32((u32)syndrome << 24 | (engine->resp.msn & 0xffffff));

	if (!skb)
		return;
	memcpy(skb->data, &aeth, header);
	memcpy(skb->data + header, data, length);
	simrnic_engine_transmit(engine, &engine->path, skb, &tx);
}

static void simrnic_send_ack(struct simrnic_engine *engine, u32 psn, u8 syndrome)
{
	simrnic_answer(engine, IB_OPCODE_ACKNOWLEDGE, psn, syndrome, NULL, 0);
}

/* A NAK for the expected packet. Sequence errors are reported once until that packet arrives. */
static void simrnic_send_nak(struct simrnic_engine *engine, enum simrnic_nak code)
{
	simrnic_send_ack(engine, engine->resp.psn, SIMRNIC_AETH_NAK | code);
}

void simrnic_refuse(struct simrnic_engine *engine, enum simrnic_nak code)
{
	simrnic_send_nak(engine, code);
	simrnic_engine_fail(engine, code == SIMRNIC_NAK_ACCESS ? IB_EVENT_QP_ACCESS_ERR
							       : IB_EVENT_QP_REQ_ERR);
}

/* The receive request itself was wrong. */
static void simrnic_refuse_receipt(struct simrnic_engine *engine, enum ib_wc_status status)
{
	struct ib_wc wc = { .status = status, .opcode = IB_WC_RECV };

	simrnic_recv_done(engine, &wc, true);
	simrnic_refuse(engine,
		       status == IB_WC_LOC_LEN_ERR ? SIMRNIC_NAK_INVALID : SIMRNIC_NAK_OPERATION);
}

void simrnic_accept(struct simrnic_engine *engine, const struct simrnic_rx *rx, u32 packets)
{
	struct simrnic_responder *resp = &engine->resp;

	resp->psn = simrnic_psn_add(rx->psn, packets);
	resp->nak_sent = false;
}

/* Sends and writes */

/* False: the sender has to try again later. */
static bool simrnic_take_recv(struct simrnic_engine *engine)
{
	struct simrnic_responder *resp = &engine->resp;

	if (resp->receiving)
		return true;
	resp->receiving = simrnic_fetch_recv(engine);
	if (resp->receiving)
		return true;
	simrnic_engine_count(engine, SIMRNIC_OUT_OF_BUFFER);
	simrnic_send_ack(engine, resp->psn,
			 SIMRNIC_AETH_RNR | (engine->qp->attr.min_rnr_timer & 0x1f));
	resp->nak_sent = true; /* the packets after this one are no error */
	return false;
}

static bool simrnic_begin_write(struct simrnic_engine *engine, const struct simrnic_reth *reth)
{
	struct simrnic_responder *resp = &engine->resp;

	resp->write_addr = be64_to_cpu(reth->addr);
	resp->write_key = be32_to_cpu(reth->key);
	resp->write_left = be32_to_cpu(reth->length);
	return !resp->write_left ||
	       simrnic_mr_allows(simrnic_pd_of(engine), resp->write_key, resp->write_addr,
				 resp->write_left, IB_ACCESS_REMOTE_WRITE);
}

static bool simrnic_write(struct simrnic_engine *engine, const u8 *data, unsigned int length)
{
	struct simrnic_responder *resp = &engine->resp;

	if (!simrnic_mr_write(simrnic_pd_of(engine), resp->write_key, resp->write_addr, data,
			      length, IB_ACCESS_REMOTE_WRITE))
		return false;
	resp->write_addr += length;
	resp->write_left -= length;
	return true;
}

static void simrnic_end_message(struct simrnic_engine *engine, const struct simrnic_rx *rx,
				const struct simrnic_part *part, __be32 immediate)
{
	struct simrnic_responder *resp = &engine->resp;
	struct ib_wc wc = {
		.opcode = part->write ? IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV,
		.byte_len = resp->received,
		.src_qp = engine->qp->attr.dest_qp_num,
		.slid = rx->slid,
		.sl = rx->sl,
	};

	resp->message = SIMRNIC_NO_MESSAGE;
	resp->msn++;
	if (part->immediate) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		wc.ex.imm_data = immediate;
	}
	if (!part->write || part->immediate)
		simrnic_recv_done(engine, &wc, rx->solicited);
}

/* Whether the part continues the message that has begun, and has the right size. */
static bool simrnic_fits(const struct simrnic_engine *engine, const struct simrnic_part *part,
			 int length)
{
	enum simrnic_message message = engine->resp.message;

	if (part->first != (message == SIMRNIC_NO_MESSAGE))
		return false;
	if (!part->first && part->write != (message == SIMRNIC_WRITE_MESSAGE))
		return false;
	return length >= 0 && (part->last ? length <= engine->mtu : length == (int)engine->mtu);
}

static void simrnic_handle_part(struct simrnic_engine *engine, const struct simrnic_rx *rx,
				const struct simrnic_part *part, const u8 *data)
{
	unsigned int reth = part->write && part->first ? sizeof(struct simrnic_reth) : 0;
	unsigned int header = reth + (part->immediate ? sizeof(__be32) : 0);
	int length = (int)rx->length - (int)header;
	struct simrnic_responder *resp = &engine->resp;
	enum ib_wc_status status;
	__be32 immediate = 0;

	if (!simrnic_fits(engine, part, length) ||
	    (part->write && !(engine->qp->attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE))) {
		simrnic_refuse(engine, SIMRNIC_NAK_INVALID);
		return;
	}
	if ((!part->write || part->immediate) && !simrnic_take_recv(engine))
		return;
	if (part->immediate)
		memcpy(&immediate, data + reth, sizeof(immediate));
	if (part->first)
		resp->received = 0;
	if (reth && !simrnic_begin_write(engine, (const struct simrnic_reth *)data)) {
		simrnic_refuse(engine, SIMRNIC_NAK_ACCESS);
		return;
	}
	if (part->write) {
		if (length > resp->write_left || (part->last && length != resp->write_left)) {
			simrnic_refuse(engine, SIMRNIC_NAK_INVALID);
			return;
		}
		if (!simrnic_write(engine, data + header, length)) {
			simrnic_refuse(engine, SIMRNIC_NAK_ACCESS);
			return;
		}
	} else {
		status = simrnic_sge_write(simrnic_pd_of(engine), engine->recv->dma.sge,
					   engine->recv->dma.num_sge, resp->received, data + header,
					   length);
		if (status != IB_WC_SUCCESS) {
			simrnic_refuse_receipt(engine, status);
			return;
		}
	}
	resp->received += length;
	resp->message = part->write ? SIMRNIC_WRITE_MESSAGE : SIMRNIC_SEND_MESSAGE;
	if (part->last)
		simrnic_end_message(engine, rx, part, immediate);
	simrnic_accept(engine, rx, 1);
	if (rx->ack_request)
		simrnic_send_ack(engine, rx->psn, SIMRNIC_AETH_ACK);
}

static void simrnic_handle_again(struct simrnic_engine *engine, const struct simrnic_rx *rx,
				 const u8 *data)
{
	simrnic_engine_count(engine, SIMRNIC_DUPLICATE_REQUEST);
	switch (rx->opcode) {
	case IB_OPCODE_RDMA_READ_REQUEST:
		simrnic_handle_read(engine, rx, (const struct simrnic_reth *)data, true);
		break;
	case IB_OPCODE_COMPARE_SWAP:
	case IB_OPCODE_FETCH_ADD:
		simrnic_repeat_atomic(engine, rx);
		break;
	default:
		if (rx->ack_request)
			simrnic_send_ack(engine, simrnic_psn_add(engine->resp.psn, -1),
					 SIMRNIC_AETH_ACK);
	}
}

void simrnic_respond(struct simrnic_engine *engine, const struct simrnic_rx *rx, const u8 *data)
{
	int ahead = simrnic_psn_compare(rx->psn, engine->resp.psn);
	struct simrnic_part part;

	if (ahead < 0) {
		simrnic_handle_again(engine, rx, data);
	} else if (ahead > 0) {
		simrnic_engine_count(engine, SIMRNIC_OUT_OF_SEQUENCE);
		if (!engine->resp.nak_sent)
			simrnic_send_nak(engine, SIMRNIC_NAK_SEQUENCE);
		engine->resp.nak_sent = true;
	} else if (rx->opcode == IB_OPCODE_RDMA_READ_REQUEST) {
		simrnic_handle_read(engine, rx, (const struct simrnic_reth *)data, false);
	} else if (rx->opcode == IB_OPCODE_COMPARE_SWAP || rx->opcode == IB_OPCODE_FETCH_ADD) {
		simrnic_handle_atomic(engine, rx, (const struct simrnic_atomic_eth *)data);
	} else if (simrnic_part_of(rx->opcode, &part)) {
		simrnic_handle_part(engine, rx, &part, data);
	} else {
		simrnic_refuse(engine, SIMRNIC_NAK_INVALID);
	}
}
