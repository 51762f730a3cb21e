// SPDX-License-Identifier: GPL-2.0
/*
 * devlink of an Ethernet PF: the mode of its switch, and whether the PF has RDMA devices.
 *
 *   devlink dev eswitch set pci/0001:00:00.0 mode switchdev
 *   devlink dev param set pci/0001:00:00.0 name enable_roce value false cmode driverinit
 *   devlink dev reload pci/0001:00:00.0
 */
#include <linux/rtnetlink.h>
#include <net/devlink.h>
#include "simrnic.h"
#include "simrnic_compat.h"

static struct simrnic_func *simrnic_devlink_pf(struct devlink *devlink)
{
	return *(struct simrnic_func **)devlink_priv(devlink);
}

static int simrnic_eswitch_mode_get(struct devlink *devlink, u16 *mode)
{
	*mode = simrnic_devlink_pf(devlink)->port->switchdev ? DEVLINK_ESWITCH_MODE_SWITCHDEV
							     : DEVLINK_ESWITCH_MODE_LEGACY;
	return 0;
}

static int simrnic_eswitch_mode_set(struct devlink *devlink, u16 mode,
				    struct netlink_ext_ack *extack)
{
	struct simrnic_func *pf = simrnic_devlink_pf(devlink);
	unsigned int vf;
	int err;

	if (mode != DEVLINK_ESWITCH_MODE_LEGACY && mode != DEVLINK_ESWITCH_MODE_SWITCHDEV)
		return -EOPNOTSUPP;
	rtnl_lock();
	WRITE_ONCE(pf->port->switchdev, mode == DEVLINK_ESWITCH_MODE_SWITCHDEV);
	for (vf = 0; vf < simrnic_vfs; vf++)
		WRITE_ONCE(pf->port->vfs[vf].vlan,
			   0); /* the new mode's switch starts without settings */
	rtnl_unlock();
	err = simrnic_reps_update(pf, pci_num_vf(pf->pdev));
	if (err)
		WRITE_ONCE(pf->port->switchdev, false);
	return err;
}

/* A new value of enable_roce takes effect here, as with mlx5. VFs keep their RDMA devices. */
static int simrnic_reload_down(struct devlink *devlink, bool netns_change,
			       enum devlink_reload_action action, enum devlink_reload_limit limit,
			       struct netlink_ext_ack *extack)
{
	if (netns_change)
		return -EOPNOTSUPP;
	simrnic_rdma_destroy(simrnic_devlink_pf(devlink));
	return 0;
}

static int simrnic_reload_up(struct devlink *devlink, enum devlink_reload_action action,
			     enum devlink_reload_limit limit, u32 *actions_performed,
			     struct netlink_ext_ack *extack)
{
	union devlink_param_value roce;
	int err;

	*actions_performed = BIT(DEVLINK_RELOAD_ACTION_DRIVER_REINIT);
	err = devl_param_driverinit_value_get(devlink, DEVLINK_PARAM_GENERIC_ID_ENABLE_ROCE, &roce);
	if (err || !roce.vbool)
		return err;
	return simrnic_rdma_create(simrnic_devlink_pf(devlink));
}

static const struct devlink_ops simrnic_devlink_ops = {
	.reload_actions = BIT(DEVLINK_RELOAD_ACTION_DRIVER_REINIT),
	.reload_down = simrnic_reload_down,
	.reload_up = simrnic_reload_up,
	.eswitch_mode_get = simrnic_eswitch_mode_get,
	.eswitch_mode_set = simrnic_eswitch_mode_set,
};

static const struct devlink_param simrnic_params[] = {
	DEVLINK_PARAM_GENERIC(ENABLE_ROCE, BIT(DEVLINK_PARAM_CMODE_DRIVERINIT), NULL, NULL, NULL),
};

/* The value is that of this driver: it is true again after the driver was unbound. */
struct devlink *simrnic_devlink_create(struct simrnic_func *pf)
{
	struct devlink *devlink = devlink_alloc(&simrnic_devlink_ops, sizeof(pf), pf->dev);
	union devlink_param_value roce = { .vbool = true };

	if (!devlink)
		return NULL;
	*(struct simrnic_func **)devlink_priv(devlink) = pf;
	if (devlink_params_register(devlink, simrnic_params, ARRAY_SIZE(simrnic_params))) {
		devlink_free(devlink);
		return NULL;
	}
	devl_lock(devlink);
	devl_param_driverinit_value_set(devlink, DEVLINK_PARAM_GENERIC_ID_ENABLE_ROCE, &roce);
	devl_unlock(devlink);
	SIMRNIC_ALLOW_RELOAD(devlink);
	devlink_register(devlink);
	return devlink;
}

/* The PF's VFs are gone already, or this removes their representors. */
void simrnic_devlink_destroy(struct devlink *devlink)
{
	struct simrnic_func *pf = simrnic_devlink_pf(devlink);

	devlink_unregister(devlink);
	WRITE_ONCE(pf->port->switchdev, false);
	simrnic_reps_update(pf, 0);
	devlink_params_unregister(devlink, simrnic_params, ARRAY_SIZE(simrnic_params));
	devlink_free(devlink);
}
