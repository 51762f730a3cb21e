// SPDX-License-Identifier: GPL-2.0
/*
 * Rings that the kernel shares with a user: the queues of rdma-core's provider for rxe. A mapping
 * can live longer than its queue and than the device, so it has its own reference to the memory.
 */
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>
#include "simrnic_engine.h"

static void simrnic_ring_free(struct kref *ref)
{
	struct simrnic_ring *ring = container_of(ref, struct simrnic_ring, ref);

	vfree(ring->buf);
	kfree(ring);
}

struct simrnic_ring *simrnic_ring_create(struct ib_ucontext *ucontext, unsigned int count,
					 size_t size, struct mminfo *info)
{
	struct simrnic_ring *ring = kzalloc(sizeof(*ring), GFP_KERNEL);
	unsigned int slots = roundup_pow_of_two(count + 1); /* one slot always stays empty */
	int err = -ENOMEM;

	if (!ring)
		return ERR_PTR(-ENOMEM);
	kref_init(&ring->ref);
	ring->mask = slots - 1;
	ring->shift = order_base_2(size);
	ring->size = PAGE_ALIGN(sizeof(*ring->buf) + ((size_t)slots << ring->shift));
	ring->buf = vmalloc_user(ring->size);
	if (!ring->buf)
		goto err_put;
	ring->buf->log2_elem_size = ring->shift;
	ring->buf->index_mask = ring->mask;
	err = rdma_user_mmap_entry_insert(ucontext, &ring->entry, ring->size);
	if (err)
		goto err_put;
	kref_get(&ring->ref); /* until simrnic_mmap_free() */
	info->offset = rdma_user_mmap_get_offset(&ring->entry);
	info->size = ring->size;
	return ring;

err_put:
	kref_put(&ring->ref, simrnic_ring_free);
	return ERR_PTR(err);
}

void simrnic_ring_destroy(struct simrnic_ring *ring)
{
	if (IS_ERR_OR_NULL(ring))
		return;
	rdma_user_mmap_entry_remove(&ring->entry);
	kref_put(&ring->ref, simrnic_ring_free);
}

void *simrnic_ring_slot(const struct simrnic_ring *ring, u32 index)
{
	return ring->buf->data + ((size_t)(index & ring->mask) << ring->shift);
}

/* The user writes the indices too, so they are masked before each use. */
bool simrnic_ring_empty(const struct simrnic_ring *ring)
{
	return (smp_load_acquire(&ring->buf->producer_index) & ring->mask) == ring->index;
}

/* For a ring that the kernel fills. */
bool simrnic_ring_drained(const struct simrnic_ring *ring)
{
	return (smp_load_acquire(&ring->buf->consumer_index) & ring->mask) == ring->index;
}

bool simrnic_ring_full(const struct simrnic_ring *ring)
{
	return (smp_load_acquire(&ring->buf->consumer_index) & ring->mask) ==
	       ((ring->index + 1) & ring->mask);
}

/* After the last access to the slot. */
void simrnic_ring_consume(struct simrnic_ring *ring)
{
	ring->index = (ring->index + 1) & ring->mask;
	smp_store_release(&ring->buf->consumer_index, ring->index);
}

void simrnic_ring_produce(struct simrnic_ring *ring)
{
	ring->index = (ring->index + 1) & ring->mask;
	smp_store_release(&ring->buf->producer_index, ring->index);
}

/* A user relies on this when it uses a queue pair again. */
void simrnic_ring_reset(struct simrnic_ring *ring)
{
	ring->index = 0;
	WRITE_ONCE(ring->buf->producer_index, 0);
	WRITE_ONCE(ring->buf->consumer_index, 0);
}

static void simrnic_vm_open(struct vm_area_struct *vma)
{
	struct simrnic_ring *ring = vma->vm_private_data;

	/* A context that the core has disassociated does not hold the module. */
	__module_get(THIS_MODULE);
	kref_get(&ring->ref);
}

static void simrnic_vm_close(struct vm_area_struct *vma)
{
	struct simrnic_ring *ring = vma->vm_private_data;

	kref_put(&ring->ref, simrnic_ring_free);
	module_put(THIS_MODULE);
}

static const struct vm_operations_struct simrnic_vm_ops = {
	.open = simrnic_vm_open,
	.close = simrnic_vm_close,
};

int simrnic_mmap(struct ib_ucontext *ucontext, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry = rdma_user_mmap_entry_get(ucontext, vma);
	int err;

	if (!entry)
		return -EINVAL;
	err = remap_vmalloc_range(vma, container_of(entry, struct simrnic_ring, entry)->buf, 0);
	if (!err) {
		vma->vm_ops = &simrnic_vm_ops;
		vma->vm_private_data = container_of(entry, struct simrnic_ring, entry);
		simrnic_vm_open(vma);
	}
	rdma_user_mmap_entry_put(entry);
	return err;
}

void simrnic_mmap_free(struct rdma_user_mmap_entry *entry)
{
	kref_put(&container_of(entry, struct simrnic_ring, entry)->ref, simrnic_ring_free);
}
