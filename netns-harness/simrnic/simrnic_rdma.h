/* SPDX-License-Identifier: GPL-2.0 */
/* RDMA devices and their objects: what the files that implement them share. */
#ifndef SIMRNIC_RDMA_H
#define SIMRNIC_RDMA_H

#include <rdma/ib_verbs.h>
#include "simrnic.h"

struct simrnic_ibdev {
	struct ib_device ib;
	struct simrnic_func *func;
	atomic_t next_qpn;
};

struct simrnic_ucontext {
	struct ib_ucontext ib;
};

struct simrnic_pd {
	struct ib_pd ib;
};

struct simrnic_cq {
	struct ib_cq ib;
};

struct simrnic_qp {
	struct ib_qp ib;
	struct ib_qp_attr attr;
};

static inline struct simrnic_func *simrnic_func_of(struct ib_device *ib)
{
	return container_of(ib, struct simrnic_ibdev, ib)->func;
}

/* simrnic_verbs.c: objects */
extern const struct ib_device_ops simrnic_object_ops;

/* simrnic_counters.c */
extern const struct ib_device_ops simrnic_counter_ops;

#endif
