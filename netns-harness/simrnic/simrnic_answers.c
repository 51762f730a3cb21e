// SPDX-License-Identifier: GPL-2.0
/*
 * The sending side of a reliable connection: what answers and time do to its requests. If a packet
 * or its answer is lost, everything from there on is sent again. Runs under simrnic_engine.lock.
 */
#include <linux/minmax.h>
#include "simrnic_engine.h"

/* Progress */

void simrnic_request_restart_timer(struct simrnic_engine *engine)
{
	const struct simrnic_requester *req = &engine->req;
	const struct ib_qp_attr *attr = &engine->qp->attr;

	/* Four times the least time that the attribute stands for is the most that it allows. */
	if (req->una != req->psn && attr->timeout && !req->rnr_wait)
		simrnic_engine_start_timer(
			engine, nsecs_to_jiffies(4 * (4096ULL << min_t(u8, attr->timeout, 31))));
}

void simrnic_request_fail(struct simrnic_engine *engine, enum ib_wc_status status)
{
	simrnic_send_done(engine, status);
	simrnic_engine_fail(engine, IB_EVENT_QP_FATAL);
}

static void simrnic_go_back(struct simrnic_engine *engine)
{
	struct simrnic_requester *req = &engine->req;

	req->psn = req->una;
	req->index = req->done;
	req->reads = 0;
}

static void simrnic_retry(struct simrnic_engine *engine, enum simrnic_counter reason)
{
	struct simrnic_requester *req = &engine->req;

	if (!req->retries) {
		simrnic_request_fail(engine, IB_WC_RETRY_EXC_ERR);
		return;
	}
	req->retries--;
	simrnic_engine_count(engine, reason);
	simrnic_go_back(engine);
}

static void simrnic_advance(struct simrnic_engine *engine, u32 una)
{
	struct simrnic_requester *req = &engine->req;

	req->una = una;
	req->gap = false;
	req->retries = engine->qp->attr.retry_cnt;
	req->rnr_retries = engine->qp->attr.rnr_retry;
	if (simrnic_psn_compare(req->psn, una) <= 0)
		simrnic_go_back(engine);
	simrnic_request_restart_timer(engine);
}

static void simrnic_finish_oldest(struct simrnic_engine *engine, const struct rxe_send_wqe *wqe)
{
	u32 una = simrnic_psn_add(wqe->last_psn, 1);

	if (simrnic_is_query(wqe) && engine->req.reads)
		engine->req.reads--;
	simrnic_send_done(engine, IB_WC_SUCCESS);
	simrnic_advance(engine, una);
}

/*
 * An answer shows that an earlier one was lost. Those that were already on the way when the request
 * goes out again show the same.
 */
static void simrnic_answer_lost(struct simrnic_engine *engine)
{
	if (engine->req.gap)
		return;
	simrnic_retry(engine, SIMRNIC_IMPLIED_NAK_SEQ_ERR);
	engine->req.gap = true;
}

/* All packets before this one have arrived. False: an answer to one of them is missing. */
static bool simrnic_acknowledged(struct simrnic_engine *engine, u32 psn)
{
	struct simrnic_requester *req = &engine->req;

	while (req->done != req->fetched && simrnic_psn_compare(psn, req->una) > 0) {
		const struct rxe_send_wqe *wqe = simrnic_send_slot(engine, req->done);

		if (simrnic_is_query(wqe))
			return false;
		if (simrnic_psn_compare(psn, wqe->last_psn) <= 0) {
			simrnic_advance(engine, psn);
			break;
		}
		simrnic_finish_oldest(engine, wqe);
	}
	return true;
}

/* Answers */

static unsigned long simrnic_rnr_delay(u8 timer)
{
	/* Hundredths of a millisecond, table 45 of the InfiniBand specification. */
	static const u32 delays[32] = { 65536, 1,    2,	   3,	  4,	 6,	8,     12,
					16,    24,   32,   48,	  64,	 96,	128,   192,
					256,   384,  512,  768,	  1024,	 1536,	2048,  3072,
					4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152 };

	return usecs_to_jiffies(delays[timer & 31] * 10);
}

static void simrnic_rnr_nak(struct simrnic_engine *engine, u8 timer)
{
	struct simrnic_requester *req = &engine->req;

	if (!req->rnr_retries) {
		simrnic_request_fail(engine, IB_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (engine->qp->attr.rnr_retry != 7)
		req->rnr_retries--;
	simrnic_engine_count(engine, SIMRNIC_RNR_NAK_RETRY_ERR);
	simrnic_go_back(engine);
	req->rnr_wait = true;
	simrnic_engine_start_timer(engine, simrnic_rnr_delay(timer));
}

static void simrnic_nak(struct simrnic_engine *engine, u8 code)
{
	switch (code) {
	case SIMRNIC_NAK_SEQUENCE:
		simrnic_retry(engine, SIMRNIC_PACKET_SEQ_ERR);
		break;
	case SIMRNIC_NAK_INVALID:
		simrnic_request_fail(engine, IB_WC_REM_INV_REQ_ERR);
		break;
	case SIMRNIC_NAK_ACCESS:
		simrnic_request_fail(engine, IB_WC_REM_ACCESS_ERR);
		break;
	default:
		simrnic_request_fail(engine, IB_WC_REM_OP_ERR);
	}
}

static void simrnic_acknowledge(struct simrnic_engine *engine, u32 psn, u8 syndrome)
{
	bool ack = (syndrome & 0xe0) == 0;

	if (!simrnic_acknowledged(engine, ack ? simrnic_psn_add(psn, 1) : psn)) {
		simrnic_answer_lost(engine);
		return;
	}
	if (ack || engine->req.una != psn)
		return;
	if ((syndrome & 0xe0) == SIMRNIC_AETH_RNR)
		simrnic_rnr_nak(engine, syndrome);
	else if ((syndrome & 0xe0) == SIMRNIC_AETH_NAK)
		simrnic_nak(engine, syndrome & 0x1f);
}

/* The answer to a read or an atomic operation. */
static void simrnic_query_answered(struct simrnic_engine *engine, u32 psn, const u8 *data,
				   unsigned int length)
{
	struct simrnic_requester *req = &engine->req;
	const struct rxe_send_wqe *wqe;
	enum ib_wc_status status;
	u64 skip;

	if (!simrnic_acknowledged(engine, psn) || req->una != psn) {
		simrnic_answer_lost(engine);
		return;
	}
	wqe = simrnic_send_slot(engine, req->done);
	if (req->done == req->fetched || !simrnic_is_query(wqe))
		return;
	skip = (u64)simrnic_psn_compare(psn, wqe->first_psn) * engine->mtu;
	status = simrnic_sge_write(simrnic_pd_of(engine), wqe->dma.sge, wqe->dma.num_sge, skip,
				   data, length);
	if (status != IB_WC_SUCCESS)
		simrnic_request_fail(engine, status);
	else if (psn == wqe->last_psn)
		simrnic_finish_oldest(engine, wqe);
	else
		simrnic_advance(engine, simrnic_psn_add(psn, 1));
}

void simrnic_request_answered(struct simrnic_engine *engine, const struct simrnic_rx *rx,
			      const u8 *data)
{
	const struct simrnic_requester *req = &engine->req;
	unsigned int header = rx->opcode == IB_OPCODE_RDMA_READ_RESPONSE_MIDDLE ? 0 : 4;
	__be64 value;
	u64 old;

	if (engine->qp->attr.qp_state != IB_QPS_RTS || rx->length < header ||
	    simrnic_psn_compare(rx->psn, req->una) < 0 ||
	    simrnic_psn_compare(rx->psn, req->max_psn) >= 0)
		return;
	switch (rx->opcode) {
	case IB_OPCODE_ACKNOWLEDGE:
		simrnic_acknowledge(engine, rx->psn, data[0]);
		break;
	case IB_OPCODE_ATOMIC_ACKNOWLEDGE:
		if (rx->length < header + sizeof(value))
			return;
		memcpy(&value, data + header, sizeof(value));
		old = be64_to_cpu(value);
		simrnic_query_answered(engine, rx->psn, (u8 *)&old, sizeof(old));
		break;
	default:
		simrnic_query_answered(engine, rx->psn, data + header, rx->length - header);
	}
}

void simrnic_request_timer(struct simrnic_engine *engine)
{
	struct simrnic_requester *req = &engine->req;

	if (engine->qp->attr.qp_state != IB_QPS_RTS || time_before(jiffies, req->deadline))
		return;
	if (req->rnr_wait) {
		req->rnr_wait = false;
	} else if (req->una != req->psn && engine->qp->attr.timeout) {
		req->gap = false;
		simrnic_retry(engine, SIMRNIC_LOCAL_ACK_TIMEOUT_ERR);
		simrnic_request_restart_timer(engine);
	}
}
