/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pairs that exchange packets: those of users, and the management queue pair of RoCE.
 *
 * An engine is what such a queue pair has beside its attributes. One work item runs it: the item
 * handles the packets that have arrived, then sends. So packets of one queue pair are handled one
 * after the other, in process context. simrnic_engine.lock keeps verbs out meanwhile.
 */
#ifndef SIMRNIC_ENGINE_H
#define SIMRNIC_ENGINE_H

#include <linux/mutex.h>
#include <linux/skbuff.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <rdma/rdma_user_rxe.h>
#include "simrnic_packet.h"
#include "simrnic_rdma.h"

#define SIMRNIC_MAX_INLINE 1024

/* A ring that a user has mapped: a queue's requests, or completions. */
struct simrnic_ring {
	struct rdma_user_mmap_entry entry;
	struct kref ref;
	struct rxe_queue_buf *buf;
	size_t size;
	u32 mask;
	unsigned int shift; /* of the size of a slot */
	u32 index; /* the kernel's: a completion queue's producer, a work queue's consumer */
};

/*
 * The sending side. Slots from `done` to `fetched` hold requests that are not complete. They are
 * copies, because users can write to the ring. `una` always lies in the request at `done`.
 */
struct simrnic_requester {
	u32 done;
	u32 index; /* the request to send from */
	u32 fetched;
	u32 una;      /* the oldest packet without an acknowledgement */
	u32 psn;      /* the next packet to send */
	u32 max_psn;  /* after the last packet that was ever sent */
	u32 next_psn; /* of the next request */
	unsigned int reads;
	unsigned int retries;
	unsigned int rnr_retries;
	bool rnr_wait;
	bool gap; /* an answer is missing, and its request goes out again */
	unsigned long deadline;
};

struct simrnic_atomic_result {
	u32 psn;
	u64 value;
	bool valid;
};

enum simrnic_message { SIMRNIC_NO_MESSAGE, SIMRNIC_SEND_MESSAGE, SIMRNIC_WRITE_MESSAGE };

/* The receiving side. */
struct simrnic_responder {
	u32 psn; /* expected */
	u32 msn;
	bool nak_sent;
	enum simrnic_message message; /* of which the first part has arrived */
	bool receiving;		      /* simrnic_engine.recv is in use */
	u64 received;
	u64 write_addr;
	u32 write_key;
	u64 write_left;
	struct simrnic_atomic_result results[SIMRNIC_MAX_READS];
	unsigned int next_result;
};

struct simrnic_engine {
	struct simrnic_qp *qp;
	u32 key; /* in the table of engines: the QPN, unless it is 1 */
	struct work_struct work;
	struct timer_list timer;   /* of the sending side */
	struct timer_list arrival; /* of the first packet in `rx` */
	bool closing;		   /* the timers must not be started again */
	struct sk_buff_head rx;
	struct sk_buff *overtaken; /* waits for the next packet, under the lock of `rx` */
	struct sk_buff_head tx;	   /* management: packets to send; their requests are in `sent` */
	struct list_head sent;	   /* struct simrnic_wqe, under simrnic_queue_lock */
	struct mutex lock;
	struct simrnic_path path;
	unsigned int mtu;
	struct simrnic_ring *sq;
	struct simrnic_ring *rq;
	void *sends; /* copies of the slots of sq */
	struct rxe_recv_wqe *recv;
	unsigned int max_send_sge;
	unsigned int max_recv_sge;
	unsigned int max_inline;
	struct simrnic_requester req;
	struct simrnic_responder resp;
};

static inline struct ib_pd *simrnic_pd_of(const struct simrnic_engine *engine)
{
	return engine->qp->ib.pd;
}

static inline struct rxe_send_wqe *simrnic_send_slot(const struct simrnic_engine *engine, u32 index)
{
	return engine->sends + ((size_t)(index & engine->sq->mask) << engine->sq->shift);
}

static inline bool simrnic_is_atomic(const struct rxe_send_wqe *wqe)
{
	return wqe->wr.opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
	       wqe->wr.opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
}

/* Its answer is more than an acknowledgement. */
static inline bool simrnic_is_query(const struct rxe_send_wqe *wqe)
{
	return wqe->wr.opcode == IB_WR_RDMA_READ || simrnic_is_atomic(wqe);
}

static inline void simrnic_engine_count(const struct simrnic_engine *engine,
					enum simrnic_counter counter)
{
	simrnic_count(simrnic_func_of(engine->qp->ib.device), counter, 1);
}

/* simrnic_ring.c */
struct simrnic_ring *simrnic_ring_create(struct ib_ucontext *ucontext, unsigned int count,
					 size_t size, struct mminfo *info);
void simrnic_ring_destroy(struct simrnic_ring *ring);
void *simrnic_ring_slot(const struct simrnic_ring *ring, u32 index);
bool simrnic_ring_empty(const struct simrnic_ring *ring);
bool simrnic_ring_drained(const struct simrnic_ring *ring);
bool simrnic_ring_full(const struct simrnic_ring *ring);
void simrnic_ring_consume(struct simrnic_ring *ring);
void simrnic_ring_produce(struct simrnic_ring *ring);
void simrnic_ring_reset(struct simrnic_ring *ring);
int simrnic_mmap(struct ib_ucontext *ucontext, struct vm_area_struct *vma);
void simrnic_mmap_free(struct rdma_user_mmap_entry *entry);

/* simrnic_mr.c; the functions that return bool return whether the key allows the access */
extern const struct ib_device_ops simrnic_mr_ops;
bool simrnic_mr_allows(const struct ib_pd *pd, u32 key, u64 addr, u64 length, int access);
bool simrnic_mr_write(const struct ib_pd *pd, u32 key, u64 addr, const void *data, size_t length,
		      int access);
bool simrnic_mr_read(const struct ib_pd *pd, u32 key, u64 addr, void *data, size_t length,
		     int access);
bool simrnic_mr_atomic(const struct ib_pd *pd, u32 key, u64 addr, bool swap, u64 compare_add,
		       u64 with, u64 *old);
enum ib_wc_status simrnic_sge_write(const struct ib_pd *pd, const struct rxe_sge *sge, int count,
				    u64 skip, const void *data, size_t length);
enum ib_wc_status simrnic_sge_read(const struct ib_pd *pd, const struct rxe_sge *sge, int count,
				   u64 skip, void *data, size_t length);

/* simrnic_engine.c: which packets engines get, when they run, what they send */
void simrnic_engine_prepare(struct simrnic_engine *engine);
int simrnic_engine_insert(struct simrnic_engine *engine);
void simrnic_engine_remove(struct simrnic_engine *engine);
void simrnic_engine_run(struct simrnic_engine *engine);
void simrnic_engine_doorbell(struct simrnic_engine *engine);
void simrnic_engine_start_timer(struct simrnic_engine *engine, unsigned long delay);
void simrnic_engine_transmit(struct simrnic_engine *engine, const struct simrnic_path *path,
			     struct sk_buff *skb, struct simrnic_tx *tx);

/* simrnic_wire.c: what a bad network does to packets */
bool simrnic_wire_loses(struct simrnic_port *port, const struct simrnic_tx *tx);
bool simrnic_wire_marks(struct simrnic_port *port, const struct simrnic_tx *tx);
void simrnic_wire_arrive(struct simrnic_engine *engine, struct simrnic_port *port,
			 struct sk_buff *skb);
bool simrnic_wire_has_due(const struct simrnic_engine *engine);
struct sk_buff *simrnic_wire_next(struct simrnic_engine *engine);
void simrnic_wire_purge(struct simrnic_engine *engine);
void simrnic_wire_notify(struct simrnic_engine *engine);

/* simrnic_engine_qp.c: verbs */
int simrnic_engine_create(struct simrnic_qp *qp, struct ib_qp_init_attr *init,
			  struct ib_udata *udata);
void simrnic_engine_destroy(struct simrnic_qp *qp);
int simrnic_engine_modify(struct simrnic_qp *qp, struct ib_qp_attr *attr, int mask);

/* simrnic_work.c: the users' requests and their completions */
bool simrnic_fetch_send(struct simrnic_engine *engine);
bool simrnic_fetch_recv(struct simrnic_engine *engine);
void simrnic_send_done(struct simrnic_engine *engine, enum ib_wc_status status);
void simrnic_recv_done(struct simrnic_engine *engine, struct ib_wc *wc, bool solicited);
enum ib_wc_status simrnic_read_payload(struct simrnic_engine *engine,
				       const struct rxe_send_wqe *wqe, u64 skip, void *data,
				       size_t length);
void simrnic_engine_fail(struct simrnic_engine *engine, enum ib_event_type type);
void simrnic_engine_flush(struct simrnic_engine *engine);

/* simrnic_requester.c: the sending side of a connection */
bool simrnic_request_next(struct simrnic_engine *engine);

/* simrnic_answers.c: what answers and time do to the sending side */
void simrnic_request_restart_timer(struct simrnic_engine *engine);
void simrnic_request_timer(struct simrnic_engine *engine);
void simrnic_request_fail(struct simrnic_engine *engine, enum ib_wc_status status);
void simrnic_request_answered(struct simrnic_engine *engine, const struct simrnic_rx *rx,
			      const u8 *data);

/* simrnic_responder.c: the receiving side of a connection */
void simrnic_respond(struct simrnic_engine *engine, const struct simrnic_rx *rx, const u8 *data);
void simrnic_answer(struct simrnic_engine *engine, u8 opcode, u32 psn, int syndrome,
		    const void *data, unsigned int length);
void simrnic_refuse(struct simrnic_engine *engine, enum simrnic_nak code);
void simrnic_accept(struct simrnic_engine *engine, const struct simrnic_rx *rx, u32 packets);

/* simrnic_queries.c: reads and atomic operations at the receiving side */
void simrnic_handle_read(struct simrnic_engine *engine, const struct simrnic_rx *rx,
			 const struct simrnic_reth *reth, bool again);
void simrnic_handle_atomic(struct simrnic_engine *engine, const struct simrnic_rx *rx,
			   const struct simrnic_atomic_eth *eth);
void simrnic_repeat_atomic(struct simrnic_engine *engine, const struct simrnic_rx *rx);

/* simrnic_ah.c */
bool simrnic_ah_path(const struct ib_pd *pd, u32 number, struct simrnic_path *path);

/* simrnic_datagram.c: datagrams of users, and management over RoCE */
int simrnic_management_post(struct simrnic_qp *qp, const struct ib_send_wr *wr);
bool simrnic_datagram_next(struct simrnic_engine *engine);
void simrnic_datagram_receive(struct simrnic_engine *engine, const struct simrnic_rx *rx,
			      const struct sk_buff *skb);

#endif
