/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module is written for the newest kernel's interfaces; this is what older ones, down to 6.1,
 * have instead. Included after the headers whose declarations it changes.
 */
#ifndef SIMRNIC_COMPAT_H
#define SIMRNIC_COMPAT_H

#include <linux/version.h>

/* Since 6.17 users' memory is registered with a DMA handle. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define SIMRNIC_DMAH(parameter)
#else
#define SIMRNIC_DMAH(parameter) parameter,
#endif

/* Before 6.16 the address was a struct sockaddr, which starts in the same way. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define dev_set_mac_address(dev, address, extack)                                                  \
	dev_set_mac_address(dev, (struct sockaddr *)(address), extack)
#endif

/* Before 6.11 whoever creates a completion queue got only this part of the attributes. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define uverbs_attr_bundle ib_udata
#endif

#endif
