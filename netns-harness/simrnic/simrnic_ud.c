// SPDX-License-Identifier: GPL-2.0
/*
 * The wire between InfiniBand ports, and unreliable datagrams, which IPoIB and management need.
 * Posting puts a copy of the packet on the wire, and a work item delivers it. Only the kernel's
 * own queue pairs can post, because their addresses are kernel addresses.
 */
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_sa.h>
#include "simrnic_rdma.h"

#define MULTICAST_QPN 0xffffff

static struct workqueue_struct *simrnic_ud_queue;

static void simrnic_deliver_all(struct work_struct *work);
static DECLARE_WORK(simrnic_ud_work, simrnic_deliver_all);

static struct simrnic_group *simrnic_find_group(struct simrnic_qp *qp, const union ib_gid *gid)
{
	struct simrnic_group *group;

	list_for_each_entry(group, &qp->groups, list)
		if (!memcmp(&group->gid, gid, sizeof(*gid)))
			return group;
	return NULL;
}

static int simrnic_attach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct simrnic_qp *qp = container_of(ib, struct simrnic_qp, ib);
	struct simrnic_group *group = kzalloc(sizeof(*group), GFP_KERNEL);
	unsigned long flags;

	if (!group)
		return -ENOMEM;
	group->gid = *gid;
	spin_lock_irqsave(&simrnic_queue_lock, flags);
	list_add_tail(&group->list, &qp->groups);
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
	return 0;
}

static int simrnic_detach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct simrnic_qp *qp = container_of(ib, struct simrnic_qp, ib);
	struct simrnic_group *group;
	unsigned long flags;

	spin_lock_irqsave(&simrnic_queue_lock, flags);
	group = simrnic_find_group(qp, gid);
	if (group)
		list_del(&group->list);
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
	kfree(group);
	return group ? 0 : -EINVAL;
}

/* Delivery. All of it runs under simrnic_queue_lock. */

bool simrnic_reaches(const struct simrnic_func *from, const struct simrnic_func *to)
{
	if (!simrnic_ib_active(from) || !simrnic_ib_active(to))
		return false;
	return from->port == to->port ||
	       (simrnic_wire && simrnic_port_link(from->port) && simrnic_port_link(to->port));
}

/* Two limited members of a partition must not talk to each other. */
bool simrnic_same_partition(u16 a, u16 b)
{
	return (a & 0x7fff) == (b & 0x7fff) && (a | b) & 0x8000;
}

static bool simrnic_is_for(struct simrnic_qp *qp, const struct simrnic_packet *packet)
{
	const struct simrnic_func *func = simrnic_func_of(qp->ib.device);

	if (!simrnic_can_receive(qp) || qp->ib.qp_type == IB_QPT_RC)
		return false;
	if (packet->dqpn == MULTICAST_QPN) {
		if (qp == packet->source_qp || !simrnic_find_group(qp, &packet->grh.dgid))
			return false;
	} else if (func->lid != packet->dlid || qp->ib.qp_num != packet->dqpn) {
		return false;
	}
	if (!simrnic_reaches(packet->source, func))
		return false;
	if (qp->ib.qp_type != IB_QPT_UD)
		return true;
	return qp->attr.qkey == packet->qkey &&
	       simrnic_same_partition(simrnic_qp_pkey(qp), packet->pkey);
}

static void simrnic_receive(struct simrnic_qp *qp, const struct simrnic_packet *packet, u16 slid,
			    u32 source_qpn)
{
	struct simrnic_wqe *wqe = list_first_entry_or_null(&qp->recv, struct simrnic_wqe, list);
	struct simrnic_func *func = simrnic_func_of(qp->ib.device);

	if (!wqe || simrnic_wqe_length(wqe) < sizeof(packet->grh) + packet->length) {
		simrnic_count(func, SIMRNIC_RX_DROPPED, 1);
		return;
	}
	simrnic_scatter(wqe, 0, &packet->grh, sizeof(packet->grh));
	simrnic_scatter(wqe, sizeof(packet->grh), packet->data, packet->length);
	wqe->wc.opcode = IB_WC_RECV;
	wqe->wc.byte_len = sizeof(packet->grh) + packet->length;
	wqe->wc.src_qp = source_qpn;
	wqe->wc.slid = slid;
	wqe->wc.wc_flags = packet->has_grh ? IB_WC_GRH : 0;
	wqe->wc.pkey_index = qp->ib.qp_type == IB_QPT_UD ? qp->attr.pkey_index : 0;
	wqe->wc.sl = packet->sl;
	wqe->wc.port_num = 1;
	simrnic_count(func, SIMRNIC_RX_RDMA_PACKETS, 1);
	simrnic_count(func, SIMRNIC_RX_RDMA_BYTES, packet->length);
	simrnic_complete(wqe, qp->ib.recv_cq, IB_WC_SUCCESS);
}

u16 simrnic_ud_find_lid(const struct simrnic_func *from, const union ib_gid *gid)
{
	struct simrnic_qp *qp;

	list_for_each_entry(qp, &simrnic_qps, all) {
		const struct simrnic_func *func = simrnic_func_of(qp->ib.device);

		if (func->port_guid == gid->global.interface_id && simrnic_reaches(from, func))
			return func->lid;
	}
	return 0;
}

/* Writes the answer into the packet itself, because nobody else reads it. */
static void simrnic_ask_sa(struct simrnic_packet *packet)
{
	struct simrnic_qp *qp = packet->source_qp;
	struct ib_sa_mad answer;

	if (packet->dqpn != 1 || packet->length != sizeof(answer) ||
	    !simrnic_sa_answer(packet->source, (const void *)packet->data, &answer))
		return;
	memcpy(packet->data, &answer, sizeof(answer));
	/* The management layer takes an answer for one only if it has a header as its request had.
	 */
	swap(packet->grh.sgid, packet->grh.dgid);
	simrnic_receive(qp, packet, SIMRNIC_SM_LID, 1);
}

static void simrnic_deliver(struct simrnic_packet *packet)
{
	struct simrnic_qp *qp;

	if (!simrnic_ib_active(packet->source)) {
		simrnic_count(packet->source, SIMRNIC_TX_DROPPED_LINK, 1);
		return;
	}
	simrnic_count(packet->source, SIMRNIC_TX_RDMA_PACKETS, 1);
	simrnic_count(packet->source, SIMRNIC_TX_RDMA_BYTES, packet->length);
	if (packet->dlid == SIMRNIC_SM_LID) {
		simrnic_ask_sa(packet);
		return;
	}
	list_for_each_entry(qp, &simrnic_qps, all)
		if (simrnic_is_for(qp, packet))
			simrnic_receive(qp, packet, packet->source->lid,
					packet->source_qp->ib.qp_num);
}

/* Bottom halves are disabled, because receivers schedule NAPI. */
static void simrnic_deliver_all(struct work_struct *work)
{
	struct simrnic_wqe *wqe;
	unsigned long flags;

	local_bh_disable();
	rcu_read_lock();
	spin_lock_irqsave(&simrnic_queue_lock, flags);
	while ((wqe = list_first_entry_or_null(&simrnic_wire_queue, struct simrnic_wqe, list))) {
		if (wqe->packet) {
			simrnic_deliver(wqe->packet);
			simrnic_complete(wqe, wqe->qp->ib.send_cq, IB_WC_SUCCESS);
		} else {
			simrnic_rc_deliver(wqe);
		}
		/* Lets others post, and enables interrupts for a moment. */
		spin_unlock_irqrestore(&simrnic_queue_lock, flags);
		spin_lock_irqsave(&simrnic_queue_lock, flags);
	}
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
	rcu_read_unlock();
	local_bh_enable();
}

void simrnic_run_wire(void)
{
	queue_work(simrnic_ud_queue, &simrnic_ud_work);
}

/* Posting */

static struct simrnic_packet *simrnic_gather(struct simrnic_qp *qp, const struct ib_send_wr *wr)
{
	struct simrnic_packet *packet;
	unsigned int length = 0, at = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	if (length > SIMRNIC_IB_MTU)
		return ERR_PTR(-EMSGSIZE);
	packet = kzalloc(struct_size(packet, data, length), GFP_ATOMIC);
	if (!packet)
		return ERR_PTR(-ENOMEM);
	packet->source = simrnic_func_of(qp->ib.device);
	packet->source_qp = qp;
	packet->length = length;
	for (i = 0; i < wr->num_sge; i++) {
		memcpy(packet->data + at, (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		at += wr->sg_list[i].length;
	}
	return packet;
}

static void simrnic_address(struct simrnic_packet *packet, const struct ib_ud_wr *ud)
{
	const struct rdma_ah_attr *attr = &container_of(ud->ah, struct simrnic_ah, ib)->attr;
	const struct simrnic_qp *qp = packet->source_qp;

	packet->dlid = rdma_ah_get_dlid(attr);
	packet->dqpn = ud->remote_qpn;
	packet->qkey = ud->remote_qkey & 0x80000000 ? qp->attr.qkey : ud->remote_qkey;
	packet->pkey = qp->ib.qp_type == IB_QPT_UD ? simrnic_qp_pkey(qp)
						   : simrnic_pkey(packet->source, ud->pkey_index);
	packet->sl = rdma_ah_get_sl(attr);
	packet->has_grh = rdma_ah_get_ah_flags(attr) & IB_AH_GRH;
	if (!packet->has_grh)
		return;
	packet->grh.version_tclass_flow = cpu_to_be32(6 << 28);
	packet->grh.paylen = cpu_to_be16(packet->length);
	packet->grh.next_hdr = 0x1b;
	packet->grh.hop_limit = rdma_ah_read_grh(attr)->hop_limit;
	packet->grh.dgid = rdma_ah_read_grh(attr)->dgid;
	packet->grh.sgid.global.subnet_prefix = cpu_to_be64(SIMRNIC_SUBNET_PREFIX);
	packet->grh.sgid.global.interface_id = packet->source->port_guid;
}

int simrnic_ud_send(struct simrnic_qp *qp, const struct ib_send_wr *wr)
{
	struct simrnic_packet *packet = NULL;
	struct simrnic_wqe *wqe;
	unsigned long flags;

	if (wr->opcode != IB_WR_SEND)
		return -EOPNOTSUPP;
	wqe = simrnic_wqe_new(qp, wr->wr_id, NULL, 0);
	if (!wqe)
		return -ENOMEM;
	packet = simrnic_gather(qp, wr);
	if (IS_ERR(packet)) {
		kfree(wqe);
		return PTR_ERR(packet);
	}
	simrnic_address(packet, ud_wr(wr));
	wqe->packet = packet;
	wqe->silent = !qp->signal_all && !(wr->send_flags & IB_SEND_SIGNALED);
	wqe->wc.opcode = IB_WC_SEND;

	spin_lock_irqsave(&simrnic_queue_lock, flags);
	if (qp->attr.qp_state == IB_QPS_ERR)
		simrnic_complete(wqe, qp->ib.send_cq, IB_WC_WR_FLUSH_ERR);
	else
		list_add_tail(&wqe->list, &simrnic_wire_queue);
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
	simrnic_run_wire();
	return 0;
}

int simrnic_queue_recv(struct simrnic_qp *qp, const struct ib_recv_wr *wr)
{
	struct simrnic_wqe *wqe = simrnic_wqe_new(qp, wr->wr_id, wr->sg_list, wr->num_sge);
	unsigned long flags;

	if (!wqe)
		return -ENOMEM;
	spin_lock_irqsave(&simrnic_queue_lock, flags);
	if (qp->attr.qp_state == IB_QPS_ERR)
		simrnic_complete(wqe, qp->ib.recv_cq, IB_WC_WR_FLUSH_ERR);
	else
		list_add_tail(&wqe->list, &qp->recv);
	simrnic_rc_wake(qp);
	spin_unlock_irqrestore(&simrnic_queue_lock, flags);
	return 0;
}

const struct ib_device_ops simrnic_mcast_ops = {
	.attach_mcast = simrnic_attach_mcast,
	.detach_mcast = simrnic_detach_mcast,
};

int simrnic_ud_init(void)
{
	simrnic_ud_queue = alloc_ordered_workqueue("simrnic_ud", WQ_HIGHPRI);
	return simrnic_ud_queue ? 0 : -ENOMEM;
}

void simrnic_ud_exit(void)
{
	destroy_workqueue(simrnic_ud_queue);
}
