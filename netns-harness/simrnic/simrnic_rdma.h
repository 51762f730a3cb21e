/* SPDX-License-Identifier: GPL-2.0 */
/* RDMA devices and their objects, shared by the files that implement them. */
#ifndef SIMRNIC_RDMA_H
#define SIMRNIC_RDMA_H

#include <rdma/ib_verbs.h>
#include "simrnic_packet.h"

#define SIMRNIC_SM_LID	      1 /* of the subnet manager and the subnet administrator */
#define SIMRNIC_SUBNET_PREFIX 0xfe80000000000000ULL
#define SIMRNIC_IB_MTU	      4096
#define SIMRNIC_MAX_WR	      16384
#define SIMRNIC_MAX_SGE	      16
#define SIMRNIC_MAX_CQE	      65536
#define SIMRNIC_MAX_READS     16 /* reads and atomic operations in flight, of each queue pair */
#define SIMRNIC_MAX_MESSAGE   (1U << 30)

struct ib_sa_mad;
struct simrnic_engine;
struct simrnic_ring;

struct simrnic_ibdev {
	struct ib_device ib;
	struct simrnic_func *func;
	bool leaving; /* removed for good, not moved to another namespace */
	/* The driver's own, as mlx5_ib has one to register memory. Unused. */
	struct ib_pd *own_pd;
	struct ib_cq *own_cq;
	struct ib_qp *own_qp;
};

struct simrnic_ucontext {
	struct ib_ucontext ib;
};

struct simrnic_pd {
	struct ib_pd ib;
};

struct simrnic_ah {
	struct ib_ah ib;
	struct rdma_ah_attr attr;
	struct simrnic_path path;
	u32 number; /* for a user; 0: none */
};

/* simrnic_queue_lock protects the lists of queues. */
struct simrnic_cq {
	struct ib_cq ib;
	struct list_head done;	   /* struct simrnic_wqe; only the kernel's */
	struct simrnic_ring *ring; /* only a user's */
	bool armed;
	bool solicited; /* armed for solicited completions and errors */
};

struct simrnic_qp {
	struct ib_qp ib;
	struct ib_qp_attr attr;
	bool signal_all;
	struct list_head all;	       /* simrnic_qps */
	struct list_head recv;	       /* struct simrnic_wqe */
	struct list_head groups;       /* struct simrnic_group */
	struct simrnic_engine *engine; /* NULL: needs none */
};

struct simrnic_packet {
	struct simrnic_func *source;
	struct simrnic_qp *source_qp;
	u16 dlid;
	u16 pkey;
	u32 dqpn;
	u32 qkey;
	u8 sl;
	bool has_grh;
	struct ib_grh grh;
	unsigned int length;
	u8 data[];
};

/*
 * A work request. It is on a QP's receive queue or on the wire, and then on a completion queue
 * with its completion filled in.
 */
struct simrnic_wqe {
	struct list_head list;
	struct simrnic_qp *qp;
	struct ib_wc wc;
	bool silent;		       /* completes without a completion entry */
	struct simrnic_packet *packet; /* to send as a datagram */
	int num_sge;		       /* to receive into, or to send over a connection */
	struct ib_sge sge[];
};

struct simrnic_group {
	struct list_head list;
	union ib_gid gid;
};

static inline bool simrnic_can_receive(const struct simrnic_qp *qp)
{
	return qp->attr.qp_state == IB_QPS_RTR || qp->attr.qp_state == IB_QPS_RTS;
}

static inline struct simrnic_func *simrnic_func_of(struct ib_device *ib)
{
	return container_of(ib, struct simrnic_ibdev, ib)->func;
}

/* simrnic_verbs.c: objects */
extern const struct ib_device_ops simrnic_object_ops;
extern const struct ib_device_ops simrnic_movable_ops;
void simrnic_qp_set_attr(struct simrnic_qp *qp, const struct ib_qp_attr *attr, int mask);

/* simrnic_post.c */
extern const struct ib_device_ops simrnic_post_ops;

/* simrnic_ah.c */
extern const struct ib_device_ops simrnic_ah_ops;

/* simrnic_counters.c */
extern const struct ib_device_ops simrnic_counter_ops;

/* simrnic_ib.c: the state of an InfiniBand port, and the administration of its VFs */
extern const struct ib_device_ops simrnic_infiniband_ops;
u16 simrnic_pkey(const struct simrnic_func *func, unsigned int index);
static inline u16 simrnic_qp_pkey(const struct simrnic_qp *qp)
{
	return simrnic_pkey(simrnic_func_of(qp->ib.device), READ_ONCE(qp->attr.pkey_index));
}

/* simrnic_queue.c: from posting to completion */
extern spinlock_t simrnic_queue_lock;
extern struct list_head simrnic_qps;
extern struct list_head simrnic_wire_queue;
extern struct list_head simrnic_rc_waiting;
struct simrnic_wqe *simrnic_wqe_new(struct simrnic_qp *qp, u64 wr_id, const struct ib_sge *sge,
				    int num_sge);
void simrnic_wqe_free(struct simrnic_wqe *wqe);
unsigned int simrnic_wqe_length(const struct simrnic_wqe *wqe);
void simrnic_scatter(const struct simrnic_wqe *wqe, unsigned int skip, const void *data,
		     unsigned int length);
void simrnic_complete(struct simrnic_wqe *wqe, struct ib_cq *ib, enum ib_wc_status status);
void simrnic_user_complete(struct simrnic_qp *qp, struct ib_cq *ib, const struct ib_wc *wc,
			   bool solicited);
int simrnic_cq_poll(struct simrnic_cq *cq, int count, struct ib_wc *wc);
void simrnic_qp_add(struct simrnic_qp *qp);
void simrnic_qp_remove(struct simrnic_qp *qp);
void simrnic_qp_fail(struct simrnic_qp *qp);
void simrnic_qp_set_state(struct simrnic_qp *qp, enum ib_qp_state state);

/* simrnic_engine.c */
int simrnic_engine_init(void);
void simrnic_engine_exit(void);

/* simrnic_ud.c: the wire between InfiniBand ports, and datagrams */
extern const struct ib_device_ops simrnic_mcast_ops; /* InfiniBand only */
int simrnic_ud_send(struct simrnic_qp *qp, const struct ib_send_wr *wr);
int simrnic_queue_recv(struct simrnic_qp *qp, const struct ib_recv_wr *wr);
void simrnic_run_wire(void);
bool simrnic_reaches(const struct simrnic_func *from, const struct simrnic_func *to);
bool simrnic_same_partition(u16 a, u16 b);
u16 simrnic_ud_find_lid(const struct simrnic_func *from, const union ib_gid *gid);

/* simrnic_rc.c: connections between InfiniBand ports */
int simrnic_rc_send(struct simrnic_qp *qp, const struct ib_send_wr *wr);
void simrnic_rc_deliver(struct simrnic_wqe *wqe);
void simrnic_rc_wake(const struct simrnic_qp *qp);

/* simrnic_sa.c: the subnet administrator */
bool simrnic_sa_answer(const struct simrnic_func *from, const struct ib_sa_mad *request,
		       struct ib_sa_mad *answer);

#endif
