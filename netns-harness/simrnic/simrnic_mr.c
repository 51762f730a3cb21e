// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that users register. Its pages stay pinned, and packets are copied from and to them page
 * by page. The core charges them to the user's limit for locked memory.
 */
#include <linux/highmem.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include "simrnic_engine.h"
#include "simrnic_compat.h"

#define SIMRNIC_MAX_MRS 0xffffff /* the rest of a key changes with each registration */

struct simrnic_mr {
	struct ib_mr ib;
	struct ib_umem *umem; /* NULL: all memory, for the kernel only */
	struct page **pages;
	u64 start;
	u64 length;
	int access;
	u32 index;
};

static DEFINE_XARRAY_ALLOC1(simrnic_mrs);
static DECLARE_RWSEM(simrnic_mr_lock); /* whoever copies reads, so that no region goes away */
static DEFINE_MUTEX(simrnic_atomic_lock);

static struct ib_mr *simrnic_get_dma_mr(struct ib_pd *pd, int access)
{
	struct simrnic_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	return mr ? &mr->ib : ERR_PTR(-ENOMEM);
}

static int simrnic_list_pages(struct simrnic_mr *mr)
{
	struct sg_page_iter iter;
	size_t i = 0;

	mr->pages = kvcalloc(ib_umem_num_pages(mr->umem), sizeof(*mr->pages), GFP_KERNEL);
	if (!mr->pages)
		return -ENOMEM;
	for_each_sgtable_page(&mr->umem->sgt_append.sgt, &iter, 0) mr->pages[i++] =
		sg_page_iter_page(&iter);
	return 0;
}

static struct ib_mr *simrnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr,
					 int access,
					 SIMRNIC_DMAH(struct ib_dmah *dmah) struct ib_udata *udata)
{
	static u32 next;
	struct simrnic_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int err;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->umem = ib_umem_get_va(pd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		err = PTR_ERR(mr->umem);
		goto err_free;
	}
	err = simrnic_list_pages(mr);
	if (err)
		goto err_umem;
	mr->start = virt_addr;
	mr->length = length;
	mr->access = access;
	mr->ib.pd = pd;
	err = xa_alloc_cyclic(&simrnic_mrs, &mr->index, NULL, XA_LIMIT(1, SIMRNIC_MAX_MRS), &next,
			      GFP_KERNEL);
	if (err < 0)
		goto err_umem;
	mr->ib.lkey = mr->index << 8 | get_random_u8();
	mr->ib.rkey = mr->ib.lkey;
	xa_store(&simrnic_mrs, mr->index, mr, GFP_KERNEL);
	return &mr->ib;

err_umem:
	kvfree(mr->pages);
	ib_umem_release(mr->umem);
err_free:
	kfree(mr);
	return ERR_PTR(err);
}

static int simrnic_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct simrnic_mr *mr = container_of(ib, struct simrnic_mr, ib);

	if (mr->umem) {
		down_write(&simrnic_mr_lock);
		xa_erase(&simrnic_mrs, mr->index);
		up_write(&simrnic_mr_lock);
		kvfree(mr->pages);
		ib_umem_release(mr->umem);
	}
	kfree(mr);
	return 0;
}

/* Under simrnic_mr_lock. */
static struct simrnic_mr *simrnic_mr_find(const struct ib_pd *pd, u32 key, u64 addr, u64 length,
					  int access)
{
	struct simrnic_mr *mr = xa_load(&simrnic_mrs, key >> 8);

	if (!mr || mr->ib.lkey != key || mr->ib.pd != pd || (mr->access & access) != access)
		return NULL;
	if (addr < mr->start || length > mr->length || addr - mr->start > mr->length - length)
		return NULL;
	return mr;
}

static void simrnic_mr_copy_pages(struct simrnic_mr *mr, u64 addr, void *data, size_t length,
				  bool in)
{
	size_t at = ib_umem_offset(mr->umem) + (addr - mr->start), part;
	u8 *page;

	while (length) {
		part = min_t(size_t, length, PAGE_SIZE - offset_in_page(at));
		page = kmap_local_page(mr->pages[at >> PAGE_SHIFT]);
		if (in)
			memcpy(page + offset_in_page(at), data, part);
		else
			memcpy(data, page + offset_in_page(at), part);
		kunmap_local(page);
		at += part;
		data += part;
		length -= part;
	}
}

bool simrnic_mr_allows(const struct ib_pd *pd, u32 key, u64 addr, u64 length, int access)
{
	bool allowed;

	down_read(&simrnic_mr_lock);
	allowed = simrnic_mr_find(pd, key, addr, length, access);
	up_read(&simrnic_mr_lock);
	return allowed;
}

static bool simrnic_mr_copy(const struct ib_pd *pd, u32 key, u64 addr, void *data, size_t length,
			    int access, bool in)
{
	struct simrnic_mr *mr;

	if (!length)
		return true;
	down_read(&simrnic_mr_lock);
	mr = simrnic_mr_find(pd, key, addr, length, access);
	if (mr)
		simrnic_mr_copy_pages(mr, addr, data, length, in);
	up_read(&simrnic_mr_lock);
	return mr;
}

bool simrnic_mr_write(const struct ib_pd *pd, u32 key, u64 addr, const void *data, size_t length,
		      int access)
{
	return simrnic_mr_copy(pd, key, addr, (void *)data, length, access, true);
}

bool simrnic_mr_read(const struct ib_pd *pd, u32 key, u64 addr, void *data, size_t length,
		     int access)
{
	return simrnic_mr_copy(pd, key, addr, data, length, access, false);
}

/* Atomic towards other requests, as cards with IB_ATOMIC_HCA are. The address is aligned. */
bool simrnic_mr_atomic(const struct ib_pd *pd, u32 key, u64 addr, bool swap, u64 compare_add,
		       u64 with, u64 *old)
{
	u64 value;
	bool ok;

	mutex_lock(&simrnic_atomic_lock);
	ok = simrnic_mr_read(pd, key, addr, old, sizeof(*old), IB_ACCESS_REMOTE_ATOMIC);
	if (ok) {
		value = !swap ? *old + compare_add : *old == compare_add ? with : *old;
		simrnic_mr_write(pd, key, addr, &value, sizeof(value), IB_ACCESS_REMOTE_ATOMIC);
	}
	mutex_unlock(&simrnic_atomic_lock);
	return ok;
}

/* Copies between a packet and a list of buffers, from the offset `skip` in the list on. */
static enum ib_wc_status simrnic_sge_copy(const struct ib_pd *pd, const struct rxe_sge *sge,
					  int count, u64 skip, void *data, size_t length, bool in)
{
	int access = in ? IB_ACCESS_LOCAL_WRITE : 0;
	size_t part;

	for (; count && length; count--, sge++) {
		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		part = min_t(size_t, length, sge->length - skip);
		if (!simrnic_mr_copy(pd, sge->lkey, sge->addr + skip, data, part, access, in))
			return IB_WC_LOC_PROT_ERR;
		data += part;
		length -= part;
		skip = 0;
	}
	return length ? IB_WC_LOC_LEN_ERR : IB_WC_SUCCESS;
}

enum ib_wc_status simrnic_sge_write(const struct ib_pd *pd, const struct rxe_sge *sge, int count,
				    u64 skip, const void *data, size_t length)
{
	return simrnic_sge_copy(pd, sge, count, skip, (void *)data, length, true);
}

enum ib_wc_status simrnic_sge_read(const struct ib_pd *pd, const struct rxe_sge *sge, int count,
				   u64 skip, void *data, size_t length)
{
	return simrnic_sge_copy(pd, sge, count, skip, data, length, false);
}

const struct ib_device_ops simrnic_mr_ops = {
	.dereg_mr = simrnic_dereg_mr,
	.get_dma_mr = simrnic_get_dma_mr,
	.reg_user_mr = simrnic_reg_user_mr,
};
