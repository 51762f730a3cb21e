// SPDX-License-Identifier: GPL-2.0
/* What a bad network does to packets, as debugfs says: losses, delays, another order, congestion.
 */
#include <linux/jhash.h>
#include "simrnic_engine.h"

/*
 * One of N. The choice looks random: at regular intervals, a connection that sends N packets after
 * each loss would lose the same one forever.
 */
static bool simrnic_wire_chooses(struct simrnic_port *port, u32 every)
{
	return every && !(jhash_1word(atomic_inc_return(&port->rdma_packets), 0) % every);
}

/* Requests and data. Management and acknowledgements stay as they are. */
static bool simrnic_is_exposed(u32 dqpn, u8 opcode)
{
	return dqpn != 1 && opcode != IB_OPCODE_ACKNOWLEDGE && opcode != SIMRNIC_OPCODE_CNP;
}

bool simrnic_wire_loses(struct simrnic_port *port, const struct simrnic_tx *tx)
{
	return simrnic_is_exposed(tx->dqpn, tx->opcode) &&
	       simrnic_wire_chooses(port, READ_ONCE(port->faults.rdma_lose_every));
}

bool simrnic_wire_marks(struct simrnic_port *port, const struct simrnic_tx *tx)
{
	return simrnic_is_exposed(tx->dqpn, tx->opcode) &&
	       simrnic_wire_chooses(port, READ_ONCE(port->faults.rdma_mark_every));
}

/* `port` is the receiver's. A packet that is overtaken waits for the next one, however long. */
void simrnic_wire_arrive(struct simrnic_engine *engine, struct simrnic_port *port,
			 struct sk_buff *skb)
{
	const struct simrnic_faults *faults = &port->faults;
	struct simrnic_rx *rx = simrnic_rx(skb);

	rx->due = jiffies;
	if (rx->dqpn != 1)
		rx->due += msecs_to_jiffies(READ_ONCE(faults->rdma_delay_ms));
	spin_lock_bh(&engine->rx.lock);
	if (!engine->overtaken && simrnic_is_exposed(rx->dqpn, rx->opcode) &&
	    simrnic_wire_chooses(port, READ_ONCE(faults->rdma_reorder_every))) {
		engine->overtaken = skb;
	} else {
		__skb_queue_tail(&engine->rx, skb);
		if (engine->overtaken)
			__skb_queue_tail(&engine->rx, engine->overtaken);
		engine->overtaken = NULL;
	}
	spin_unlock_bh(&engine->rx.lock);
}

/* Only the holder of engine->lock takes packets away. */
bool simrnic_wire_has_due(const struct simrnic_engine *engine)
{
	struct sk_buff *skb = skb_peek(&engine->rx);

	return skb && !time_after(simrnic_rx(skb)->due, jiffies);
}

/* NULL: none has arrived yet. */
struct sk_buff *simrnic_wire_next(struct simrnic_engine *engine)
{
	struct sk_buff *skb = skb_peek(&engine->rx);

	if (!skb)
		return NULL;
	if (!time_after(simrnic_rx(skb)->due, jiffies))
		return skb_dequeue(&engine->rx);
	if (!READ_ONCE(engine->closing))
		mod_timer(&engine->arrival, simrnic_rx(skb)->due);
	return NULL;
}

void simrnic_wire_purge(struct simrnic_engine *engine)
{
	struct sk_buff *overtaken;

	spin_lock_bh(&engine->rx.lock);
	overtaken = engine->overtaken;
	engine->overtaken = NULL;
	spin_unlock_bh(&engine->rx.lock);
	kfree_skb(overtaken);
	skb_queue_purge(&engine->rx);
}

/* Tells the sender of a marked packet. Cards do so less often than for each packet. */
void simrnic_wire_notify(struct simrnic_engine *engine)
{
	static const u8 reserved[SIMRNIC_CNP_BYTES];

	simrnic_engine_count(engine, SIMRNIC_ECN_MARKED);
	simrnic_engine_count(engine, SIMRNIC_CNP_SENT);
	simrnic_answer(engine, SIMRNIC_OPCODE_CNP, 0, -1, reserved, sizeof(reserved));
}
