// SPDX-License-Identifier: GPL-2.0
/*
 * A module that uses an RDMA device as nvme_rdma and rpcrdma do. It has queue pairs and does
 * nothing with them. It gives them up when the kernel takes the device away, and does not create
 * them again when the device returns.
 */
#include <linux/inet.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#define MAX_QUEUE_PAIRS 16

static char *device;
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "RDMA device to have queue pairs on");

static unsigned int queue_pairs = 1;
module_param(queue_pairs, uint, 0444);
MODULE_PARM_DESC(queue_pairs, "how many (default 1)");

static char *address;
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "instead of device: IPv4 address of one, for a queue pair of RDMA CM");

static struct ib_pd *user_pd;
static struct ib_cq *user_cq;
static struct ib_qp_init_attr user_attr = {
	.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	.sq_sig_type = IB_SIGNAL_ALL_WR,
};

/* What queue pairs need. */

static int user_begin(struct ib_device *ib)
{
	user_pd = ib_alloc_pd(ib, 0);
	if (IS_ERR(user_pd))
		return PTR_ERR(user_pd);
	user_cq = ib_alloc_cq(ib, NULL, 2 * MAX_QUEUE_PAIRS, 0, IB_POLL_DIRECT);
	if (IS_ERR(user_cq)) {
		ib_dealloc_pd(user_pd);
		return PTR_ERR(user_cq);
	}
	user_attr.send_cq = user_cq;
	user_attr.recv_cq = user_cq;
	return 0;
}

static void user_end(void)
{
	ib_free_cq(user_cq);
	ib_dealloc_pd(user_pd);
}

/* Queue pairs that the module creates itself, as smc does. */

static struct ib_qp *user_qps[MAX_QUEUE_PAIRS];
static unsigned int user_qp_count;
static bool user_loading = true;

static void user_destroy_all(void)
{
	while (user_qp_count > 0)
		ib_destroy_qp(user_qps[--user_qp_count]);
	user_end();
}

static int user_add(struct ib_device *ib)
{
	int err;

	if (!user_loading || strcmp(dev_name(&ib->dev), device))
		return -EOPNOTSUPP;
	err = user_begin(ib);
	if (err)
		return err;
	user_attr.qp_type = IB_QPT_UD;
	while (user_qp_count < queue_pairs) {
		struct ib_qp *qp = ib_create_qp(user_pd, &user_attr);

		if (IS_ERR(qp)) {
			user_destroy_all();
			return PTR_ERR(qp);
		}
		user_qps[user_qp_count++] = qp;
	}
	return 0;
}

static void user_remove(struct ib_device *ib, void *data)
{
	pr_info("simrnic_user: loses %s\n", dev_name(&ib->dev));
	user_destroy_all();
}

static struct ib_client user_client = {
	.name = "simrnic_user",
	.add = user_add,
	.remove = user_remove,
};

static int user_take_device(void)
{
	int err;

	if (queue_pairs < 1 || queue_pairs > MAX_QUEUE_PAIRS)
		return -EINVAL;
	err = ib_register_client(&user_client);
	user_loading = false;
	if (!err && !user_qp_count) {
		ib_unregister_client(&user_client);
		return -ENODEV;
	}
	return err;
}

/* A queue pair that RDMA CM creates, as for nvme_rdma and rpcrdma. */

static struct rdma_cm_id *user_id;

static void user_destroy_connection(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	user_end();
}

/* A return value other than 0 also destroys the identifier. */
static int user_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event != RDMA_CM_EVENT_DEVICE_REMOVAL || xchg(&user_id, NULL) != id)
		return 0;
	pr_info("simrnic_user: loses %s\n", dev_name(&id->device->dev));
	user_destroy_connection(id);
	return 1;
}

static int user_take_address(void)
{
	struct sockaddr_in source = { .sin_family = AF_INET };
	struct rdma_cm_id *id;
	int err = -ENODEV;

	if (!in4_pton(address, -1, (u8 *)&source.sin_addr, -1, NULL))
		return -EINVAL;
	id = rdma_create_id(&init_net, user_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	if (rdma_bind_addr(id, (struct sockaddr *)&source) || !id->device)
		goto err_id;
	err = user_begin(id->device);
	if (err)
		goto err_id;
	user_attr.qp_type = IB_QPT_RC;
	err = rdma_create_qp(id, user_pd, &user_attr);
	if (err)
		goto err_end;
	user_id = id;
	return 0;

err_end:
	user_end();
err_id:
	rdma_destroy_id(id);
	return err;
}

static int __init user_init(void)
{
	if (!device == !address)
		return -EINVAL;
	return device ? user_take_device() : user_take_address();
}

static void __exit user_exit(void)
{
	struct rdma_cm_id *id = xchg(&user_id, NULL);

	if (id) {
		user_destroy_connection(id);
		rdma_destroy_id(id);
	}
	if (device)
		ib_unregister_client(&user_client);
}

module_init(user_init);
module_exit(user_exit);
MODULE_DESCRIPTION("A user of RDMA devices in the kernel");
MODULE_LICENSE("GPL");
