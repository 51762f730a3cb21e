// SPDX-License-Identifier: GPL-2.0
/* The driver of PFs and VFs, and a substitute for vfio-pci. */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/workqueue.h>
#include <net/devlink.h>
#include "simrnic.h"

/* The driver's data for a bound device. */
struct simrnic_driven {
	struct pci_dev *pdev;
	struct simrnic_func *func; /* NULL before it starts, see faults.vf_devices_delay_ms */
	struct delayed_work late;
	struct devlink *devlink; /* for an Ethernet PF */
};

static struct simrnic_port *simrnic_port_of(struct pci_dev *pdev)
{
	struct simrnic_nic *nic = simrnic_nic_of_bus(pdev->bus);

	return &nic->ports[PCI_FUNC(pci_physfn(pdev)->devfn)];
}

static struct simrnic_func *simrnic_func_create(struct pci_dev *pdev)
{
	struct simrnic_port *port = simrnic_port_of(pdev);
	int vf = pdev->is_virtfn ? pci_iov_vf_id(pdev) : -1;

	if (port->nic->infiniband)
		return simrnic_ib_create(pdev, port, vf);
	return simrnic_net_create(&pdev->dev, port, vf);
}

static void simrnic_func_destroy(struct simrnic_func *func)
{
	if (func->netdev)
		simrnic_net_destroy(func);
	else
		simrnic_ib_destroy(func);
}

/* Creates the function's devices: at its probe, or for a VF some time later. */
static int simrnic_start(struct simrnic_driven *driven)
{
	struct simrnic_func *func = simrnic_func_create(driven->pdev);
	int err;

	if (IS_ERR(func))
		return PTR_ERR(func);
	err = simrnic_rdma_create(func);
	if (err)
		goto err_func;
	if (simrnic_is_pf(func) && func->netdev) {
		err = simrnic_sf_plug(func);
		if (err)
			goto err_rdma;
		driven->devlink = simrnic_devlink_create(func);
		if (!driven->devlink) {
			err = -ENOMEM;
			goto err_sf;
		}
	}
	driven->func = func;
	return 0;

err_sf:
	simrnic_sf_unplug(func);
err_rdma:
	simrnic_rdma_destroy(func);
err_func:
	simrnic_func_destroy(func);
	return err;
}

static void simrnic_start_late(struct work_struct *work)
{
	struct simrnic_driven *driven =
		container_of(to_delayed_work(work), struct simrnic_driven, late);

	if (simrnic_start(driven))
		pci_err(driven->pdev, "no devices\n");
}

static int simrnic_start_as_told(struct simrnic_driven *driven)
{
	const struct simrnic_faults *faults = &simrnic_port_of(driven->pdev)->faults;

	if (!driven->pdev->is_virtfn)
		return simrnic_start(driven);
	if (READ_ONCE(faults->vf_probe_delay_ms))
		msleep(faults->vf_probe_delay_ms);
	if (!READ_ONCE(faults->vf_devices_delay_ms))
		return simrnic_start(driven);
	schedule_delayed_work(&driven->late, msecs_to_jiffies(faults->vf_devices_delay_ms));
	return 0;
}

static int simrnic_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct simrnic_driven *driven = devm_kzalloc(&pdev->dev, sizeof(*driven), GFP_KERNEL);
	int err;

	if (!driven)
		return -ENOMEM;
	driven->pdev = pdev;
	INIT_DELAYED_WORK(&driven->late, simrnic_start_late);
	pci_set_drvdata(pdev, driven);
	err = pci_enable_device(pdev);
	if (err)
		return err;
	err = simrnic_start_as_told(driven);
	if (err)
		pci_disable_device(pdev);
	return err;
}

static void simrnic_remove(struct pci_dev *pdev)
{
	struct simrnic_driven *driven = pci_get_drvdata(pdev);

	if (driven->devlink)
		simrnic_devlink_destroy(driven->devlink);
	if (!pdev->is_virtfn)
		pci_disable_sriov(pdev);
	cancel_delayed_work_sync(&driven->late);
	if (driven->func) {
		if (simrnic_is_pf(driven->func))
			simrnic_sf_unplug(driven->func);
		simrnic_rdma_destroy(driven->func);
		simrnic_func_destroy(driven->func);
	}
	pci_disable_device(pdev);
}

static int simrnic_enable_sriov(struct pci_dev *pdev, int num_vfs)
{
	struct simrnic_port *port = simrnic_port_of(pdev);
	int vf;

	rtnl_lock();
	for (vf = 0; vf < num_vfs; vf++)
		simrnic_vport_reset(&port->vfs[vf]);
	rtnl_unlock();
	simrnic_pci_set_flr(port);
	return pci_enable_sriov(pdev, num_vfs);
}

static int simrnic_sriov_configure(struct pci_dev *pdev, int num_vfs)
{
	struct simrnic_driven *driven = pci_get_drvdata(pdev);
	int err = 0;

	if (driven->devlink)
		devl_lock(driven->devlink); /* so that the mode does not change */
	if (num_vfs)
		err = simrnic_enable_sriov(pdev, num_vfs);
	else
		pci_disable_sriov(pdev);
	if (!err && driven->devlink)
		err = simrnic_reps_update(driven->func, num_vfs);
	if (err && num_vfs)
		pci_disable_sriov(pdev);
	if (driven->devlink)
		devl_unlock(driven->devlink);
	return err ? err : num_vfs;
}

static const struct pci_device_id simrnic_pci_ids[] = {
	{ PCI_DEVICE(SIMRNIC_VENDOR_ID, SIMRNIC_PF_DEVICE_ID) },
	{ PCI_DEVICE(SIMRNIC_VENDOR_ID, SIMRNIC_VF_DEVICE_ID) },
	{}
};

static struct pci_driver simrnic_pci_driver = {
	.name = "simrnic",
	.id_table = simrnic_pci_ids,
	.probe = simrnic_probe,
	.remove = simrnic_remove,
	.sriov_configure = simrnic_sriov_configure,
};

/*
 * This driver has vfio-pci's name and does nothing. The real one needs an IOMMU, which the host
 * bridge lacks, or a kernel with no-IOMMU mode, which Debian's is not. Like the real one, it only
 * binds devices whose driver_override names it.
 */

static int simrnic_vfio_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	return 0;
}

static const struct pci_device_id simrnic_vfio_ids[] = {
	{ PCI_DRIVER_OVERRIDE_DEVICE_VFIO(SIMRNIC_VENDOR_ID, SIMRNIC_PF_DEVICE_ID) },
	{ PCI_DRIVER_OVERRIDE_DEVICE_VFIO(SIMRNIC_VENDOR_ID, SIMRNIC_VF_DEVICE_ID) },
	{}
};

static struct pci_driver simrnic_vfio_driver = {
	.name = "vfio-pci",
	.id_table = simrnic_vfio_ids,
	.probe = simrnic_vfio_probe,
};

int simrnic_pci_register_driver(void)
{
	int err = simrnic_sf_register_driver();

	if (err)
		return err;
	err = pci_register_driver(&simrnic_pci_driver);
	if (err)
		goto err_sf;
	if (simrnic_vfio_pci)
		err = pci_register_driver(&simrnic_vfio_driver);
	if (err)
		goto err_pci;
	return 0;

err_pci:
	pci_unregister_driver(&simrnic_pci_driver);
err_sf:
	simrnic_sf_unregister_driver();
	return err;
}

void simrnic_pci_unregister_driver(void)
{
	if (simrnic_vfio_pci)
		pci_unregister_driver(&simrnic_vfio_driver);
	pci_unregister_driver(&simrnic_pci_driver);
	simrnic_sf_unregister_driver();
}
