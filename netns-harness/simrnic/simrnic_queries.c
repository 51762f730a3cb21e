// SPDX-License-Identifier: GPL-2.0
/*
 * Reads and atomic operations at the receiving side of a reliable connection. Runs under
 * simrnic_engine.lock.
 */
#include <linux/minmax.h>
#include <linux/slab.h>
#include "simrnic_engine.h"

static u8 simrnic_response_opcode(bool first, bool last)
{
	if (first)
		return last ? IB_OPCODE_RDMA_READ_RESPONSE_ONLY
			    : IB_OPCODE_RDMA_READ_RESPONSE_FIRST;
	return last ? IB_OPCODE_RDMA_READ_RESPONSE_LAST : IB_OPCODE_RDMA_READ_RESPONSE_MIDDLE;
}

static bool simrnic_send_data(struct simrnic_engine *engine, u32 psn,
			      const struct simrnic_reth *reth)
{
	u32 left = be32_to_cpu(reth->length), key = be32_to_cpu(reth->key), length;
	u64 addr = be64_to_cpu(reth->addr);
	bool first = true;
	u8 opcode, *data = kmalloc(engine->mtu, GFP_KERNEL);

	if (!data)
		return false;
	do {
		length = min(left, engine->mtu);
		if (!simrnic_mr_read(simrnic_pd_of(engine), key, addr, data, length,
				     IB_ACCESS_REMOTE_READ))
			break;
		left -= length;
		addr += length;
		opcode = simrnic_response_opcode(first, !left);
		simrnic_answer(engine, opcode, psn,
			       opcode == IB_OPCODE_RDMA_READ_RESPONSE_MIDDLE ? -1
									     : SIMRNIC_AETH_ACK,
			       data, length);
		psn = simrnic_psn_add(psn, 1);
		first = false;
		cond_resched();
	} while (left);
	kfree(data);
	return !first;
}

void simrnic_handle_read(struct simrnic_engine *engine, const struct simrnic_rx *rx,
			 const struct simrnic_reth *reth, bool again)
{
	u32 length;

	if (rx->length < sizeof(*reth) || engine->resp.message != SIMRNIC_NO_MESSAGE ||
	    !(engine->qp->attr.qp_access_flags & IB_ACCESS_REMOTE_READ)) {
		if (!again)
			simrnic_refuse(engine, SIMRNIC_NAK_INVALID);
		return;
	}
	length = be32_to_cpu(reth->length);
	if (length && !simrnic_mr_allows(simrnic_pd_of(engine), be32_to_cpu(reth->key),
					 be64_to_cpu(reth->addr), length, IB_ACCESS_REMOTE_READ)) {
		simrnic_refuse(engine, SIMRNIC_NAK_ACCESS);
		return;
	}
	if (!again) {
		simrnic_accept(engine, rx, max(1U, DIV_ROUND_UP(length, engine->mtu)));
		engine->resp.msn++;
	}
	simrnic_send_data(engine, rx->psn, reth);
}

static void simrnic_send_result(struct simrnic_engine *engine, u32 psn, u64 value)
{
	__be64 old = cpu_to_be64(value);

	simrnic_answer(engine, IB_OPCODE_ATOMIC_ACKNOWLEDGE, psn, SIMRNIC_AETH_ACK, &old,
		       sizeof(old));
}

void simrnic_handle_atomic(struct simrnic_engine *engine, const struct simrnic_rx *rx,
			   const struct simrnic_atomic_eth *eth)
{
	struct simrnic_responder *resp = &engine->resp;
	struct simrnic_atomic_result *result = &resp->results[resp->next_result];
	bool swap = rx->opcode == IB_OPCODE_COMPARE_SWAP;
	u64 addr, with;

	if (rx->length < sizeof(*eth) || resp->message != SIMRNIC_NO_MESSAGE ||
	    be64_to_cpu(eth->addr) & 7 ||
	    !(engine->qp->attr.qp_access_flags & IB_ACCESS_REMOTE_ATOMIC)) {
		simrnic_refuse(engine, SIMRNIC_NAK_INVALID);
		return;
	}
	addr = be64_to_cpu(eth->addr);
	with = be64_to_cpu(eth->swap_add);
	if (!simrnic_mr_atomic(simrnic_pd_of(engine), be32_to_cpu(eth->key), addr, swap,
			       swap ? be64_to_cpu(eth->compare) : with, with, &result->value)) {
		simrnic_refuse(engine, SIMRNIC_NAK_ACCESS);
		return;
	}
	result->psn = rx->psn;
	result->valid = true;
	resp->next_result = (resp->next_result + 1) % ARRAY_SIZE(resp->results);
	resp->msn++;
	simrnic_accept(engine, rx, 1);
	simrnic_send_result(engine, rx->psn, result->value);
}

/* Atomic operations must not happen twice, so their results are kept. */
void simrnic_repeat_atomic(struct simrnic_engine *engine, const struct simrnic_rx *rx)
{
	const struct simrnic_responder *resp = &engine->resp;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(resp->results); i++)
		if (resp->results[i].valid && resp->results[i].psn == rx->psn)
			simrnic_send_result(engine, rx->psn, resp->results[i].value);
}
