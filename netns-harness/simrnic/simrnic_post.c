// SPDX-License-Identifier: GPL-2.0
/* Posting: the kernel's work requests, and doorbells of users. */
#include "simrnic_engine.h"

/* The kernel's data does not move over RoCE, and no addresses of users must be followed here. */
static bool simrnic_can_post(const struct ib_qp *qp)
{
	bool roce = simrnic_func_of(qp->device)->netdev;

	switch (qp->qp_type) {
	case IB_QPT_GSI:
	case IB_QPT_SMI:
		return true;
	case IB_QPT_UD:
	case IB_QPT_RC:
		return !roce && !qp->uobject;
	default:
		return false;
	}
}

static int simrnic_post_one(struct simrnic_qp *qp, const struct ib_send_wr *wr)
{
	if (qp->engine)
		return simrnic_management_post(qp, wr);
	return qp->ib.qp_type == IB_QPT_RC ? simrnic_rc_send(qp, wr) : simrnic_ud_send(qp, wr);
}

/* A user posts nothing here: the call means that there is something in the ring. */
static bool simrnic_is_doorbell(const struct simrnic_qp *qp)
{
	return qp->engine && qp->engine->sq;
}

static int simrnic_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
			     const struct ib_send_wr **bad)
{
	struct simrnic_qp *qp = container_of(ib, struct simrnic_qp, ib);
	int err = simrnic_can_post(ib) ? 0 : -EOPNOTSUPP;

	if (simrnic_is_doorbell(qp)) {
		*bad = wr;
		simrnic_engine_doorbell(qp->engine);
		return wr ? -EOPNOTSUPP : 0;
	}
	for (; wr && !err; wr = wr->next) {
		*bad = wr;
		err = simrnic_post_one(qp, wr);
	}
	return err;
}

static int simrnic_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
			     const struct ib_recv_wr **bad)
{
	struct simrnic_qp *qp = container_of(ib, struct simrnic_qp, ib);
	int err = simrnic_can_post(ib) ? 0 : -EOPNOTSUPP;

	for (; wr && !err; wr = wr->next) {
		*bad = wr;
		err = simrnic_queue_recv(qp, wr);
	}
	return err;
}

const struct ib_device_ops simrnic_post_ops = {
	.post_recv = simrnic_post_recv,
	.post_send = simrnic_post_send,
};
