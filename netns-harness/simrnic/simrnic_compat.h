/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module uses the newest kernel's interfaces. This file adapts them to older kernels down to
 * 6.1. Include it after the headers whose declarations it changes.
 */
#ifndef SIMRNIC_COMPAT_H
#define SIMRNIC_COMPAT_H

#include <linux/version.h>

/* Before 7.2 this function had a shorter name. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define ib_umem_get_va ib_umem_get
#endif

/* Since 6.17 memory of users is registered with a DMA handle. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define SIMRNIC_DMAH(parameter)
#else
#define SIMRNIC_DMAH(parameter) parameter,
#endif

/* Before 6.16 the address was a struct sockaddr, which begins with the same members. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define dev_set_mac_address(dev, address, extack)                                                  \
	dev_set_mac_address(dev, (struct sockaddr *)(address), extack)
#endif

/*
 * Before 7.2 the first value of a parameter was passed as it is. Before 6.3 devlink's lock did not
 * protect parameters, and a driver asked for reloads.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define SIMRNIC_ALLOW_RELOAD(devlink)	devlink_set_features(devlink, DEVLINK_F_RELOAD)
#define devl_param_driverinit_value_get devlink_param_driverinit_value_get
#define devl_param_driverinit_value_set(devlink, id, value)                                        \
	devlink_param_driverinit_value_set(devlink, id, *(value))
#else
#define SIMRNIC_ALLOW_RELOAD(devlink)
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define devl_param_driverinit_value_set(devlink, id, value)                                        \
	devl_param_driverinit_value_set(devlink, id, *(value))
#endif
#endif

/* Before 6.2 timer_delete_sync() had the name that 6.15 removed. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define timer_delete_sync(timer) del_timer_sync(timer)
#endif

/* Before 6.11 the creator of a completion queue only got this part of the attributes. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define uverbs_attr_bundle   ib_udata
#define SIMRNIC_UDATA(attrs) (attrs)
#else
#define SIMRNIC_UDATA(attrs) ((attrs) ? &(attrs)->driver_udata : NULL)
#endif

#endif
