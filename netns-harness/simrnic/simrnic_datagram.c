// SPDX-License-Identifier: GPL-2.0
/*
 * Datagrams: those of users, and management over RoCE. Management is the kernel's, so its requests
 * are not in rings. Runs under simrnic_engine.lock, except posting.
 */
#include <linux/ip.h>
#include <linux/minmax.h>
#include <rdma/ib_addr.h>
#include "simrnic_engine.h"

#define SIMRNIC_OWN_QKEY 0x80000000 /* this bit asks for the queue pair's own queue key */

static u32 simrnic_qkey(const struct simrnic_qp *qp, u32 asked)
{
	return asked & SIMRNIC_OWN_QKEY ? qp->attr.qkey : asked;
}

static unsigned int simrnic_max_datagram(const struct simrnic_qp *qp)
{
	const struct simrnic_func *func = simrnic_func_of(qp->ib.device);

	if (!func->netdev)
		return SIMRNIC_IB_MTU;
	return ib_mtu_enum_to_int(iboe_get_mtu(READ_ONCE(func->netdev->mtu)));
}

static void simrnic_put_deth(struct sk_buff *skb, const struct simrnic_qp *qp, u32 qkey)
{
	const struct simrnic_deth deth = {
		.qkey = cpu_to_be32(simrnic_qkey(qp, qkey)),
		.sqpn = cpu_to_be32(qp->ib.qp_num),
	};

	memcpy(skb->data, &deth, sizeof(deth));
}

/* Users */

static enum ib_wc_status simrnic_send_datagram(struct simrnic_engine *engine,
					       const struct rxe_send_wqe *wqe)
{
	bool immediate = wqe->wr.opcode == IB_WR_SEND_WITH_IMM;
	unsigned int header = sizeof(struct simrnic_deth) + (immediate ? sizeof(__be32) : 0);
	struct simrnic_tx tx = {
		.opcode =
			immediate ? IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE : IB_OPCODE_UD_SEND_ONLY,
		.solicited = wqe->wr.send_flags & IB_SEND_SOLICITED,
		.dqpn = wqe->wr.wr.ud.remote_qpn & 0xffffff,
		.psn = engine->req.psn,
	};
	struct simrnic_path path;
	enum ib_wc_status status;
	struct sk_buff *skb;

	if (wqe->status != IB_WC_SUCCESS)
		return wqe->status;
	if ((wqe->wr.opcode != IB_WR_SEND && !immediate) ||
	    !simrnic_ah_path(simrnic_pd_of(engine), wqe->wr.wr.ud.ah_num, &path))
		return IB_WC_LOC_QP_OP_ERR;
	if (wqe->dma.length > simrnic_max_datagram(engine->qp))
		return IB_WC_LOC_LEN_ERR;
	skb = simrnic_packet_new(header + wqe->dma.length, GFP_KERNEL);
	if (!skb)
		return IB_WC_GENERAL_ERR;
	simrnic_put_deth(skb, engine->qp, wqe->wr.wr.ud.remote_qkey);
	if (immediate)
		memcpy(skb->data + sizeof(struct simrnic_deth), &wqe->wr.ex.imm_data,
		       sizeof(__be32));
	status = simrnic_read_payload(engine, wqe, 0, skb->data + header, wqe->dma.length);
	if (status != IB_WC_SUCCESS) {
		kfree_skb(skb);
		return status;
	}
	engine->req.psn = simrnic_psn_add(engine->req.psn, 1);
	simrnic_engine_transmit(engine, &path, skb, &tx);
	return IB_WC_SUCCESS;
}

static bool simrnic_next_of_user(struct simrnic_engine *engine)
{
	enum ib_wc_status status;

	if (engine->qp->attr.qp_state != IB_QPS_RTS || !simrnic_fetch_send(engine))
		return false;
	status = simrnic_send_datagram(engine, simrnic_send_slot(engine, engine->req.done));
	simrnic_send_done(engine, status);
	if (status != IB_WC_SUCCESS)
		simrnic_engine_fail(engine, IB_EVENT_QP_FATAL);
	return status == IB_WC_SUCCESS;
}

static void simrnic_receive_for_user(struct simrnic_engine *engine, struct ib_wc *wc,
				     const struct ib_grh *grh, const u8 *data, unsigned int length,
				     bool solicited)
{
	const struct rxe_recv_wqe *recv = engine->recv;
	const struct ib_pd *pd = simrnic_pd_of(engine);

	if (!simrnic_fetch_recv(engine)) {
		simrnic_count(simrnic_func_of(pd->device), SIMRNIC_RX_DROPPED, 1);
		return;
	}
	wc->status = simrnic_sge_write(pd, recv->dma.sge, recv->dma.num_sge, 0, grh, sizeof(*grh));
	if (wc->status == IB_WC_SUCCESS)
		wc->status = simrnic_sge_write(pd, recv->dma.sge, recv->dma.num_sge, sizeof(*grh),
					       data, length);
	simrnic_recv_done(engine, wc, solicited);
}

/* Management */

static bool simrnic_next_of_management(struct simrnic_engine *engine)
{
	struct sk_buff *skb = skb_dequeue(&engine->tx);
	struct simrnic_wqe *wqe;
	unsigned long flags;

	if (!skb)
		return false;
	simrnic_switch_rdma(skb, simrnic_func_of(engine->qp->ib.device));
	local_bh_disable();
	spin_lock_irqsave(&simrnic_queue_lock, flags);
	wqe = list_first_entry_or_null(&engine->sent, struct simrnic_wqe, list);
	if (wqe)
		simrnic_complete(wqe, engine->qp->ib.send_cq, IB_WC_SUCCESS);
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
	local_bh_enable();
	return true;
}

static void simrnic_receive_for_management(struct simrnic_engine *engine, struct ib_wc *wc,
					   const struct ib_grh *grh, const u8 *data,
					   unsigned int length)
{
	struct simrnic_qp *qp = engine->qp;
	struct simrnic_wqe *wqe;
	unsigned long flags;

	local_bh_disable();
	spin_lock_irqsave(&simrnic_queue_lock, flags);
	wqe = list_first_entry_or_null(&qp->recv, struct simrnic_wqe, list);
	if (wqe && simrnic_wqe_length(wqe) >= sizeof(*grh) + length) {
		simrnic_scatter(wqe, 0, grh, sizeof(*grh));
		simrnic_scatter(wqe, sizeof(*grh), data, length);
		wc->wr_id = wqe->wc.wr_id;
		wqe->wc = *wc;
		simrnic_complete(wqe, qp->ib.recv_cq, IB_WC_SUCCESS);
	} else {
		simrnic_count(simrnic_func_of(qp->ib.device), SIMRNIC_RX_DROPPED, 1);
	}
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
	local_bh_enable();
}

static struct sk_buff *simrnic_management_packet(struct simrnic_qp *qp, const struct ib_send_wr *wr)
{
	const struct simrnic_ah *ah = container_of(ud_wr(wr)->ah, struct simrnic_ah, ib);
	struct simrnic_tx tx = {
		.opcode = IB_OPCODE_UD_SEND_ONLY,
		.pkey = simrnic_pkey(simrnic_func_of(qp->ib.device), ud_wr(wr)->pkey_index),
		.sqpn = qp->ib.qp_num,
		.dqpn = ud_wr(wr)->remote_qpn,
	};
	unsigned int length = 0, at = sizeof(struct simrnic_deth);
	struct sk_buff *skb;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	skb = simrnic_packet_new(at + length, GFP_ATOMIC);
	if (!skb)
		return NULL;
	simrnic_put_deth(skb, qp, ud_wr(wr)->remote_qkey);
	for (i = 0; i < wr->num_sge; i++) {
		memcpy(skb->data + at, (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		at += wr->sg_list[i].length;
	}
	simrnic_packet_finish(skb, &ah->path, &tx);
	return skb;
}

/* Interrupts can be off here, so the work item sends. */
int simrnic_management_post(struct simrnic_qp *qp, const struct ib_send_wr *wr)
{
	struct simrnic_engine *engine = qp->engine;
	struct simrnic_wqe *wqe;
	struct sk_buff *skb;
	unsigned long flags;

	if (wr->opcode != IB_WR_SEND)
		return -EOPNOTSUPP;
	wqe = simrnic_wqe_new(qp, wr->wr_id, NULL, 0);
	if (!wqe)
		return -ENOMEM;
	skb = simrnic_management_packet(qp, wr);
	if (!skb) {
		kfree(wqe);
		return -ENOMEM;
	}
	wqe->silent = !qp->signal_all && !(wr->send_flags & IB_SEND_SIGNALED);
	wqe->wc.opcode = IB_WC_SEND;
	spin_lock_irqsave(&simrnic_queue_lock, flags);
	list_add_tail(&wqe->list, &engine->sent);
	skb_queue_tail(&engine->tx, skb);
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
	simrnic_engine_run(engine);
	return 0;
}

/* Both */

bool simrnic_datagram_next(struct simrnic_engine *engine)
{
	return engine->sq ? simrnic_next_of_user(engine) : simrnic_next_of_management(engine);
}

/* A receiver gets an IPv4 header in the second half of the space for a global routing header. */
static void simrnic_copy_grh(struct ib_grh *grh, const struct simrnic_rx *rx,
			     const struct sk_buff *skb)
{
	const u8 *header = skb->data + rx->network_offset;
	const size_t v4 = sizeof(struct iphdr);

	if (rx->network == RDMA_NETWORK_IPV4)
		memcpy((u8 *)grh + sizeof(*grh) - v4, header, v4);
	else
		memcpy(grh, header, sizeof(*grh));
}

void simrnic_datagram_receive(struct simrnic_engine *engine, const struct simrnic_rx *rx,
			      const struct sk_buff *skb)
{
	const struct simrnic_deth *deth =
		(void *)skb->data + rx->bth_offset + sizeof(struct simrnic_bth);
	bool immediate = rx->opcode == IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE;
	unsigned int header = sizeof(*deth) + (immediate ? sizeof(__be32) : 0);
	const u8 *data = (const u8 *)deth + header;
	struct ib_grh grh = {};
	struct ib_wc wc = {
		.opcode = IB_WC_RECV,
		.wc_flags = IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE,
		.network_hdr_type = rx->network,
		.sl = rx->sl,
		.port_num = 1,
	};

	if (rx->length < header || be32_to_cpu(deth->qkey) != engine->qp->attr.qkey)
		return;
	simrnic_copy_grh(&grh, rx, skb);
	wc.byte_len = sizeof(grh) + rx->length - header;
	wc.src_qp = be32_to_cpu(deth->sqpn) & 0xffffff;
	if (immediate) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		memcpy(&wc.ex.imm_data, deth + 1, sizeof(wc.ex.imm_data));
	}
	if (rx->vlan != SIMRNIC_NO_VLAN) {
		wc.wc_flags |= IB_WC_WITH_VLAN;
		wc.vlan_id = rx->vlan;
	}
	if (!engine->sq) {
		simrnic_receive_for_management(engine, &wc, &grh, data, rx->length - header);
		return;
	}
	wc.wc_flags &= IB_WC_GRH | IB_WC_WITH_IMM;
	simrnic_receive_for_user(engine, &wc, &grh, data, rx->length - header, rx->solicited);
}
