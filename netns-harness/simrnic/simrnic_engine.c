// SPDX-License-Identifier: GPL-2.0
/* Engines of queue pairs: which packets they get, when they run, what they send. */
#include <linux/xarray.h>
#include "simrnic_engine.h"
#include "simrnic_compat.h"

#define SIMRNIC_MANAGEMENT_KEYS 0x1000000 /* every device has a queue pair 1 */
#define SIMRNIC_MAX_BACKLOG	8192
#define SIMRNIC_BUDGET		64
#define SIMRNIC_SEND_BUDGET	16 /* small, so that a loss is noticed soon */
#define SIMRNIC_FLUSH_INTERVAL	(HZ / 10)

static DEFINE_XARRAY_FLAGS(simrnic_engines, XA_FLAGS_LOCK_BH | XA_FLAGS_ALLOC);
static struct workqueue_struct *simrnic_engine_queue;

void simrnic_engine_run(struct simrnic_engine *engine)
{
	queue_work(simrnic_engine_queue, &engine->work);
}

static void simrnic_engine_timer(struct timer_list *timer)
{
	simrnic_engine_run(container_of(timer, struct simrnic_engine, timer));
}

static void simrnic_engine_arrival(struct timer_list *timer)
{
	simrnic_engine_run(container_of(timer, struct simrnic_engine, arrival));
}

void simrnic_engine_start_timer(struct simrnic_engine *engine, unsigned long delay)
{
	engine->req.deadline = jiffies + max(delay, 1UL);
	if (!READ_ONCE(engine->closing))
		mod_timer(&engine->timer, engine->req.deadline);
}

/* Under the lock of simrnic_engines, which keeps the engine alive. */
static struct simrnic_engine *simrnic_engine_find(const struct simrnic_func *func, u32 qpn)
{
	struct simrnic_engine *engine;
	unsigned long key;

	if (qpn != 1) {
		engine = xa_load(&simrnic_engines, qpn);
		return engine && simrnic_func_of(engine->qp->ib.device) == func ? engine : NULL;
	}
	xa_for_each_start(&simrnic_engines, key, engine,
			  SIMRNIC_MANAGEMENT_KEYS) if (simrnic_func_of(engine->qp->ib.device) ==
						       func) return engine;
	return NULL;
}

static void simrnic_engine_take(struct simrnic_engine *engine, struct simrnic_func *func,
				struct sk_buff *skb)
{
	if (skb_queue_len(&engine->rx) < SIMRNIC_MAX_BACKLOG) {
		simrnic_wire_arrive(engine, func->port, skb);
		simrnic_engine_run(engine);
	} else {
		simrnic_count(func, SIMRNIC_RX_DROPPED, 1);
		kfree_skb(skb);
	}
}

/* Takes the packet if the function has the queue pair. */
static bool simrnic_engine_deliver(struct simrnic_func *func, u32 qpn, struct sk_buff *skb)
{
	struct simrnic_engine *engine;

	xa_lock_bh(&simrnic_engines);
	engine = simrnic_engine_find(func, qpn);
	if (engine)
		simrnic_engine_take(engine, func, skb);
	xa_unlock_bh(&simrnic_engines);
	return engine;
}

bool simrnic_rdma_receive(struct simrnic_func *func, struct sk_buff *skb)
{
	return simrnic_packet_parse(skb) &&
	       simrnic_engine_deliver(func, simrnic_rx(skb)->dqpn, skb);
}

/* A connection only accepts packets of its other end. */
static bool simrnic_from_peer(const struct simrnic_engine *engine, const struct sk_buff *skb)
{
	const struct simrnic_rx *rx = (const struct simrnic_rx *)skb->cb;
	const struct simrnic_path *path = &engine->path;
	union ib_gid sgid, dgid;

	if (rx->network != path->network)
		return false;
	if (rx->network == RDMA_NETWORK_IB)
		return rx->slid == path->dlid;
	simrnic_packet_gids(skb, &sgid, &dgid);
	return !memcmp(&sgid, &path->dgid, sizeof(sgid)) &&
	       !memcmp(&dgid, &path->sgid, sizeof(dgid)) && rx->vlan == path->vlan;
}

static void simrnic_engine_receive(struct simrnic_engine *engine, struct sk_buff *skb)
{
	const struct simrnic_rx *rx = simrnic_rx(skb);
	const struct simrnic_qp *qp = engine->qp;
	const u8 *data = skb->data + rx->bth_offset + sizeof(struct simrnic_bth);

	if (!simrnic_can_receive(qp))
		return;
	if (!simrnic_same_partition(simrnic_qp_pkey(qp), rx->pkey)) {
		atomic_inc(&simrnic_func_of(qp->ib.device)->bad_pkeys);
		return;
	}
	if (qp->ib.qp_type != IB_QPT_RC) {
		if ((rx->opcode & 0xe0) == IB_OPCODE_UD)
			simrnic_datagram_receive(engine, rx, skb);
		return;
	}
	if (!simrnic_from_peer(engine, skb))
		return;
	if (rx->opcode == SIMRNIC_OPCODE_CNP)
		simrnic_engine_count(engine, SIMRNIC_CNP_HANDLED);
	if ((rx->opcode & 0xe0) != IB_OPCODE_RC)
		return;
	if (rx->congested)
		simrnic_wire_notify(engine);
	if (rx->opcode >= IB_OPCODE_RDMA_READ_RESPONSE_FIRST &&
	    rx->opcode <= IB_OPCODE_ATOMIC_ACKNOWLEDGE)
		simrnic_request_answered(engine, rx, data);
	else
		simrnic_respond(engine, rx, data);
}

static bool simrnic_engine_send(struct simrnic_engine *engine)
{
	switch (engine->qp->ib.qp_type) {
	case IB_QPT_RC:
		return simrnic_request_next(engine);
	default:
		return simrnic_datagram_next(engine);
	}
}

/* Under engine->lock. */
static void simrnic_engine_turn(struct simrnic_engine *engine)
{
	int budget = SIMRNIC_BUDGET;
	struct sk_buff *skb;

	while (budget-- > 0 && (skb = simrnic_wire_next(engine))) {
		simrnic_engine_receive(engine, skb);
		consume_skb(skb);
	}
	if (engine->qp->attr.qp_state == IB_QPS_ERR) {
		/* Posting receive requests does not wake the engine. */
		simrnic_engine_flush(engine);
		simrnic_engine_start_timer(engine, SIMRNIC_FLUSH_INTERVAL);
	} else {
		simrnic_request_timer(engine);
		budget = SIMRNIC_SEND_BUDGET;
		while (budget > 0 && simrnic_engine_send(engine))
			budget--;
	}
	if (budget <= 0 || simrnic_wire_has_due(engine))
		simrnic_engine_run(engine);
}

static void simrnic_engine_work(struct work_struct *work)
{
	struct simrnic_engine *engine = container_of(work, struct simrnic_engine, work);

	mutex_lock(&engine->lock);
	simrnic_engine_turn(engine);
	mutex_unlock(&engine->lock);
}

/* A user waits for what it sends, perhaps with a loop that keeps the work item from running. */
void simrnic_engine_doorbell(struct simrnic_engine *engine)
{
	if (!mutex_trylock(&engine->lock)) {
		simrnic_engine_run(engine);
		return;
	}
	simrnic_engine_turn(engine);
	mutex_unlock(&engine->lock);
}

/* Whether the packet's addresses are the port's: the LID, and the GID of a global routing header.
 */
static bool simrnic_leads_to(const struct simrnic_path *path, const struct simrnic_func *to)
{
	return to->lid == path->dlid &&
	       (!path->has_grh ||
		(path->dgid.global.subnet_prefix == cpu_to_be64(SIMRNIC_SUBNET_PREFIX) &&
		 path->dgid.global.interface_id == to->port_guid));
}

/* InfiniBand has no frames here: the packet goes straight to its queue pair. */
static void simrnic_cross_subnet(struct simrnic_func *from, const struct simrnic_path *path,
				 const struct simrnic_tx *tx, struct sk_buff *skb)
{
	struct simrnic_rx rx = { .network = RDMA_NETWORK_IB, .slid = from->lid, .sl = path->sl };
	struct simrnic_engine *engine;
	struct simrnic_func *to;
	bool arrives = false;

	if (!simrnic_ib_active(from)) {
		simrnic_count(from, SIMRNIC_TX_DROPPED_LINK, 1);
		kfree_skb(skb);
		return;
	}
	simrnic_count(from, SIMRNIC_TX_RDMA_PACKETS, 1);
	simrnic_count(from, SIMRNIC_TX_RDMA_BYTES, skb->len);
	xa_lock_bh(&simrnic_engines);
	rcu_read_lock();
	engine = xa_load(&simrnic_engines, tx->dqpn);
	if (engine) {
		to = simrnic_func_of(engine->qp->ib.device);
		arrives = !to->netdev && simrnic_leads_to(path, to) && simrnic_reaches(from, to) &&
			  simrnic_packet_parse_transport(skb, &rx, skb->len);
	}
	if (arrives) {
		simrnic_count(to, SIMRNIC_RX_RDMA_PACKETS, 1);
		simrnic_count(to, SIMRNIC_RX_RDMA_BYTES, skb->len);
		simrnic_engine_take(engine, to, skb);
	}
	rcu_read_unlock();
	xa_unlock_bh(&simrnic_engines);
	if (!arrives)
		kfree_skb(skb);
}

void simrnic_engine_transmit(struct simrnic_engine *engine, const struct simrnic_path *path,
			     struct sk_buff *skb, struct simrnic_tx *tx)
{
	const struct simrnic_qp *qp = engine->qp;
	struct simrnic_func *func = simrnic_func_of(qp->ib.device);

	if (qp->ib.qp_type == IB_QPT_RC)
		tx->dqpn = qp->attr.dest_qp_num;
	tx->sqpn = qp->ib.qp_num;
	tx->pkey = simrnic_qp_pkey(qp);
	if (simrnic_wire_loses(func->port, tx)) {
		kfree_skb(skb);
		return;
	}
	tx->congested = simrnic_wire_marks(func->port, tx);
	simrnic_packet_finish(skb, path, tx);
	if (func->netdev)
		simrnic_switch_rdma(skb, func);
	else
		simrnic_cross_subnet(func, path, tx, skb);
}

int simrnic_engine_insert(struct simrnic_engine *engine)
{
	u32 qpn = engine->qp->ib.qp_num;

	if (qpn == 1)
		return xa_alloc_bh(&simrnic_engines, &engine->key, engine,
				   XA_LIMIT(SIMRNIC_MANAGEMENT_KEYS, UINT_MAX), GFP_KERNEL);
	engine->key = qpn;
	return xa_insert_bh(&simrnic_engines, qpn, engine, GFP_KERNEL);
}

/* No packet and no timer runs the engine after that. */
void simrnic_engine_remove(struct simrnic_engine *engine)
{
	xa_erase_bh(&simrnic_engines, engine->key);
	WRITE_ONCE(engine->closing, true);
	cancel_work_sync(&engine->work);
	timer_delete_sync(&engine->timer);
	timer_delete_sync(&engine->arrival);
	cancel_work_sync(&engine->work);
}

void simrnic_engine_prepare(struct simrnic_engine *engine)
{
	INIT_WORK(&engine->work, simrnic_engine_work);
	timer_setup(&engine->timer, simrnic_engine_timer, 0);
	timer_setup(&engine->arrival, simrnic_engine_arrival, 0);
}

int simrnic_engine_init(void)
{
	simrnic_engine_queue = alloc_workqueue("simrnic_rdma", WQ_UNBOUND | WQ_HIGHPRI, 0);
	return simrnic_engine_queue ? 0 : -ENOMEM;
}

void simrnic_engine_exit(void)
{
	destroy_workqueue(simrnic_engine_queue);
}
