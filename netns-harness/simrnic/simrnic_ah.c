// SPDX-License-Identifier: GPL-2.0
/* Address handles. Users name theirs by a number, because a work request is in their memory. */
#include <linux/xarray.h>
#include "simrnic_engine.h"

static DEFINE_XARRAY_ALLOC1(simrnic_ahs);

static int simrnic_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *init,
			     struct ib_udata *udata)
{
	struct simrnic_ah *ah = container_of(ib, struct simrnic_ah, ib);

	ah->attr = *init->ah_attr;
	ah->attr.grh.sgid_attr = NULL; /* owned by the core */
	return simrnic_path_set(&ah->path, init->ah_attr, init->ah_attr->grh.sgid_attr);
}

static int simrnic_create_user_ah(struct ib_ah *ib, struct rdma_ah_init_attr *init,
				  struct ib_udata *udata)
{
	struct simrnic_ah *ah = container_of(ib, struct simrnic_ah, ib);
	struct rxe_create_ah_resp answer = {};
	int err = simrnic_create_ah(ib, init, udata);

	if (err)
		return err;
	if (udata->outlen < sizeof(answer))
		return -EOPNOTSUPP; /* a provider that names address handles by their contents */
	err = xa_alloc(&simrnic_ahs, &ah->number, ah, xa_limit_31b, GFP_KERNEL);
	if (err)
		return err;
	answer.ah_num = ah->number;
	err = ib_copy_to_udata(udata, &answer, sizeof(answer));
	if (err)
		xa_erase(&simrnic_ahs, ah->number);
	return err;
}

static int simrnic_query_ah(struct ib_ah *ib, struct rdma_ah_attr *attr)
{
	*attr = container_of(ib, struct simrnic_ah, ib)->attr;
	return 0;
}

static int simrnic_destroy_ah(struct ib_ah *ib, u32 flags)
{
	struct simrnic_ah *ah = container_of(ib, struct simrnic_ah, ib);

	if (ah->number)
		xa_erase(&simrnic_ahs, ah->number);
	return 0;
}

bool simrnic_ah_path(const struct ib_pd *pd, u32 number, struct simrnic_path *path)
{
	struct simrnic_ah *ah;
	bool found;

	xa_lock(&simrnic_ahs);
	ah = xa_load(&simrnic_ahs, number);
	found = ah && ah->ib.pd == pd;
	if (found)
		*path = ah->path;
	xa_unlock(&simrnic_ahs);
	return found;
}

const struct ib_device_ops simrnic_ah_ops = {
	.create_ah = simrnic_create_ah,
	.create_user_ah = simrnic_create_user_ah,
	.destroy_ah = simrnic_destroy_ah,
	.query_ah = simrnic_query_ah,
	INIT_RDMA_OBJ_SIZE(ib_ah, simrnic_ah, ib),
};
