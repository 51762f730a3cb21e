// SPDX-License-Identifier: GPL-2.0
/*
 * Sub-functions: auxiliary devices simrnic.sf.N of a PF, each with a net device and an RDMA
 * device. They exist while the PF has its driver. Like VFs they are ports of its switch, but they
 * have no administration.
 */
#include <linux/auxiliary_bus.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "simrnic.h"

struct simrnic_sf {
	struct auxiliary_device aux;
	struct simrnic_port *port;
	unsigned int index;
};

static void simrnic_sf_release(struct device *dev)
{
	kfree(container_of(dev, struct simrnic_sf, aux.dev));
}

/* The number at the end of the name. It is the same after every boot. */
static unsigned int simrnic_sf_id(const struct simrnic_port *port, unsigned int index)
{
	return (port->nic->index * simrnic_ports + port->index) * simrnic_sfs + index;
}

static struct simrnic_sf *simrnic_sf_add(struct simrnic_func *pf, unsigned int index)
{
	struct simrnic_sf *sf = kzalloc(sizeof(*sf), GFP_KERNEL);
	int err;

	if (!sf)
		return ERR_PTR(-ENOMEM);
	sf->port = pf->port;
	sf->index = index;
	sf->aux.name = "sf";
	sf->aux.id = simrnic_sf_id(pf->port, index);
	sf->aux.dev.parent = pf->dev;
	sf->aux.dev.release = simrnic_sf_release;
	err = auxiliary_device_init(&sf->aux);
	if (err) {
		kfree(sf);
		return ERR_PTR(err);
	}
	err = auxiliary_device_add(&sf->aux);
	if (err) {
		auxiliary_device_uninit(&sf->aux);
		return ERR_PTR(err);
	}
	return sf;
}

int simrnic_sf_plug(struct simrnic_func *pf)
{
	struct simrnic_port *port = pf->port;
	struct simrnic_sf *sf;

	while (port->sf_count < simrnic_sfs) {
		sf = simrnic_sf_add(pf, port->sf_count);
		if (IS_ERR(sf)) {
			simrnic_sf_unplug(pf);
			return PTR_ERR(sf);
		}
		port->sfs[port->sf_count++] = sf;
	}
	return 0;
}

void simrnic_sf_unplug(struct simrnic_func *pf)
{
	struct simrnic_port *port = pf->port;

	while (port->sf_count) {
		struct simrnic_sf *sf = port->sfs[--port->sf_count];

		auxiliary_device_delete(&sf->aux);
		auxiliary_device_uninit(&sf->aux);
	}
}

static int simrnic_sf_probe(struct auxiliary_device *aux, const struct auxiliary_device_id *id)
{
	struct simrnic_sf *sf = container_of(aux, struct simrnic_sf, aux);
	struct simrnic_func *func =
		simrnic_net_create(&aux->dev, sf->port, simrnic_vfs + sf->index);
	int err;

	if (IS_ERR(func))
		return PTR_ERR(func);
	err = simrnic_rdma_create(func);
	if (err) {
		simrnic_net_destroy(func);
		return err;
	}
	auxiliary_set_drvdata(aux, func);
	return 0;
}

static void simrnic_sf_remove(struct auxiliary_device *aux)
{
	struct simrnic_func *func = auxiliary_get_drvdata(aux);

	simrnic_rdma_destroy(func);
	simrnic_net_destroy(func);
}

static const struct auxiliary_device_id simrnic_sf_ids[] = {
	{ .name = KBUILD_MODNAME ".sf" },
	{},
};

static struct auxiliary_driver simrnic_sf_driver = {
	.name = "sf",
	.id_table = simrnic_sf_ids,
	.probe = simrnic_sf_probe,
	.remove = simrnic_sf_remove,
};

int simrnic_sf_register_driver(void)
{
	return auxiliary_driver_register(&simrnic_sf_driver);
}

void simrnic_sf_unregister_driver(void)
{
	auxiliary_driver_unregister(&simrnic_sf_driver);
}
