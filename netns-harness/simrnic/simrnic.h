/* SPDX-License-Identifier: GPL-2.0 */
/*
 * simrnic - a software SR-IOV RDMA NIC
 *
 * A card (struct simrnic_nic) has its own PCI bus and some ports. A port (struct simrnic_port) is
 * one PCI physical function, as on ConnectX cards. It has virtual functions and an embedded switch
 * between them. The ports of all cards can share one wire. A function (struct simrnic_func),
 * physical or virtual, has a net device and an RDMA device. On an InfiniBand card it only has an
 * RDMA device, and the kernel's IPoIB makes net devices on it.
 *
 * RTNL protects the administrative state, the links, simrnic_vport.func and simrnic_vport.rep. The
 * switch reads under RCU.
 */
#ifndef SIMRNIC_H
#define SIMRNIC_H

#include <linux/atomic.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/ioport.h>
#include <linux/netdevice.h>
#include <linux/pci.h>

#define SIMRNIC_MAX_NICS  8
#define SIMRNIC_MAX_PORTS 8    /* PCI functions of one device */
#define SIMRNIC_MAX_VFS	  1024 /* for each port */
#define SIMRNIC_MAX_SFS	  64   /* for each port */
#define SIMRNIC_MAX_RDMA  4    /* RDMA devices for each function */

/* No vendor had this ID when this was written. */
#define SIMRNIC_VENDOR_ID    0x1fab
#define SIMRNIC_PF_DEVICE_ID 0x1001
#define SIMRNIC_VF_DEVICE_ID 0x1002

struct dcbnl_rtnl_ops;
struct devlink;
struct ethtool_pauseparam;
struct simrnic_ibdev;
struct simrnic_nic;
struct simrnic_port;
struct simrnic_sf;

enum simrnic_counter {
	SIMRNIC_RX_PACKETS,
	SIMRNIC_RX_BYTES,
	SIMRNIC_TX_PACKETS,
	SIMRNIC_TX_BYTES,
	SIMRNIC_RX_MULTICAST,
	SIMRNIC_RX_BROADCAST,
	SIMRNIC_RX_DROPPED,
	SIMRNIC_TX_DROPPED_LINK,
	SIMRNIC_TX_DROPPED_SPOOF,
	SIMRNIC_TX_DROPPED_VLAN,
	/*
	 * RoCE frames. They also count above if software sends them through the net device, or
	 * gets them from there.
	 */
	SIMRNIC_RX_RDMA_PACKETS,
	SIMRNIC_RX_RDMA_BYTES,
	SIMRNIC_TX_RDMA_PACKETS,
	SIMRNIC_TX_RDMA_BYTES,
	/* From here on: hw_counters of RDMA devices. */
	SIMRNIC_RX_WRITE_REQUESTS,
	SIMRNIC_RX_READ_REQUESTS,
	SIMRNIC_OUT_OF_SEQUENCE,
	SIMRNIC_DUPLICATE_REQUEST,
	SIMRNIC_OUT_OF_BUFFER,
	SIMRNIC_PACKET_SEQ_ERR,
	SIMRNIC_IMPLIED_NAK_SEQ_ERR,
	SIMRNIC_LOCAL_ACK_TIMEOUT_ERR,
	SIMRNIC_RNR_NAK_RETRY_ERR,
	SIMRNIC_ECN_MARKED,
	SIMRNIC_CNP_SENT,
	SIMRNIC_CNP_HANDLED,
	SIMRNIC_COUNTERS
};

/* Which frames a function receives: a copy of its net device's address lists. */
struct simrnic_filter {
	struct rcu_head rcu;
	bool all_unicast;
	bool all_multicast;
	unsigned int count;
	u8 addr[][ETH_ALEN];
};

/* A PF or VF that has a driver. If it has a net device, this is the net device's private data. */
struct simrnic_func {
	struct net_device *netdev; /* NULL: InfiniBand */
	struct device *dev;	   /* the PCI device, or the sub-function's auxiliary device */
	struct pci_dev *pdev;	   /* for a sub-function: the PF */
	struct simrnic_port *port;
	struct simrnic_vport *vport;
	struct simrnic_ibdev *ibdevs[SIMRNIC_MAX_RDMA];
	unsigned int ibdev_count; /* RTNL; RDMA devices that get link events */
	bool rdma_active;	  /* RTNL; the last event */
	bool link;		  /* InfiniBand, physical link; written under RTNL */
	u16 lid;		  /* InfiniBand */
	atomic_t bad_pkeys;	  /* packets for another partition */
	__be64 node_guid;
	__be64 port_guid;
	struct simrnic_filter __rcu *filter;
	atomic64_t counters[SIMRNIC_COUNTERS];
};

/* A connection to the port's embedded switch. It exists even if the function has no driver. */
struct simrnic_vport {
	struct simrnic_func __rcu *func;
	struct net_device __rcu *rep; /* for a VF in switchdev mode */
	/* The PF's settings for a VF. */
	u8 mac[ETH_ALEN]; /* zero: not set */
	u16 vlan;
	u8 qos;
	__be16 vlan_proto;
	bool spoofchk;
	bool trusted;
	int link_state; /* IFLA_VF_LINK_STATE_... */
	int min_tx_rate;
	int max_tx_rate;
	u64 node_guid; /* InfiniBand, used from the VF's next probe on; zero: not set */
	u64 port_guid;
	/* State in the function itself. It outlives its driver, and only a reset clears it. */
	u32 residue;
	u32 resets;
	u32 resets_under_driver; /* resets while a driver was bound */
};

/* The faults that debugfs has set. */
struct simrnic_faults {
	u32 vf_call_skip;
	u32 vf_call_fail;
	u32 vf_call_errno;
	u32 vf_call_ignore;
	u32 vf_call_delay_ms;
	u32 vf_no_guid;
	bool vf_random_mac;
	bool vf_no_flr;
	bool vf_untold;
	u32 vf_probe_delay_ms;
	u32 vf_devices_delay_ms;
	u32 rdma_move_delay_ms;
	u32 features_fail;
	u32 rdma_lose_every;
	u32 rdma_reorder_every;
	u32 rdma_mark_every;
	u32 rdma_delay_ms;
};

/* A counter that grows by itself, at a rate that debugfs has set. */
struct simrnic_growth {
	u64 count; /* RTNL; until the rate was set */
	u64 since_ns;
	u64 per_second;
};

/* What slows a port down. The units are microseconds and events. */
struct simrnic_pause {
	struct simrnic_growth received_us;
	struct simrnic_growth sent_us;
	struct simrnic_growth storms;
	struct simrnic_growth discards;
};

struct simrnic_port {
	struct simrnic_nic *nic;
	unsigned int index;
	bool cable;	/* RTNL */
	bool switchdev; /* written under devlink's lock, or after devlink is gone */
	bool managed;	/* RTNL; InfiniBand: a subnet manager has configured the port */
	u8 pfc;		/* RTNL; bit P: priority flow control of priority P */
	bool rx_pause;	/* RTNL; 802.3x */
	bool tx_pause;
	bool has_buffers; /* RTNL; the administrator has set the two below */
	u8 buffer_of[8];  /* by priority */
	u32 buffer_size[8];
	struct simrnic_pause pause;
	struct simrnic_faults faults;
	u64 out_of_sequence;   /* added to that counter of the RDMA devices, through debugfs */
	atomic_t rdma_packets; /* from which faults.rdma_..._every choose */
	struct dentry *debugfs;
	struct simrnic_vport pf;
	struct simrnic_vport *vfs; /* simrnic_vfs entries, then the sub-functions' */
	struct simrnic_sf *sfs[SIMRNIC_MAX_SFS];
	unsigned int sf_count;
};

struct simrnic_nic {
	unsigned int index;
	bool infiniband;
	bool movable; /* its RDMA devices can change namespaces */
	struct pci_sysdata sysdata;
	struct resource busnr;
	struct pci_bus *bus;
	unsigned int functions;
	u8 (*config)[PCI_CFG_SPACE_EXP_SIZE]; /* by routing ID */
	struct simrnic_port ports[SIMRNIC_MAX_PORTS];
};

/* simrnic_main.c: module parameters, and the cards */
extern unsigned int simrnic_nics;
extern unsigned int simrnic_ports;
extern unsigned int simrnic_vfs;
extern unsigned int simrnic_sfs;
extern unsigned int simrnic_gid_table_len;
extern unsigned int simrnic_rdma_devices;
extern unsigned int simrnic_rdma_ports;
extern bool simrnic_wire;
extern bool simrnic_ib_grh;
extern bool simrnic_ib_limited;
extern bool simrnic_vfio_pci;
extern struct simrnic_nic *simrnic_nic[SIMRNIC_MAX_NICS];

/* simrnic_pci.c: the host bridge, and configuration space */
struct simrnic_nic *simrnic_nic_of_bus(struct pci_bus *bus);
int simrnic_pci_plug(struct simrnic_nic *nic);
void simrnic_pci_unplug(struct simrnic_nic *nic);
void simrnic_pci_set_flr(struct simrnic_port *port);

/* simrnic_driver.c: the driver of the devices behind the host bridge */
int simrnic_pci_register_driver(void);
void simrnic_pci_unregister_driver(void);

/* simrnic_sf.c: sub-functions */
int simrnic_sf_register_driver(void);
void simrnic_sf_unregister_driver(void);
int simrnic_sf_plug(struct simrnic_func *pf);
void simrnic_sf_unplug(struct simrnic_func *pf);

/* simrnic_func.c: names, identities, links */
void simrnic_func_name(const struct simrnic_func *func, const char *prefix, char *name,
		       size_t size);
void simrnic_permanent_mac(const struct simrnic_func *func, u8 *mac);
void simrnic_set_guids(struct simrnic_func *func);
void simrnic_vport_reset(struct simrnic_vport *vport);
bool simrnic_port_link(const struct simrnic_port *port);
void simrnic_func_update_link(struct simrnic_func *func);
void simrnic_port_update_links(struct simrnic_port *port);

/* simrnic_ib.c: functions of InfiniBand cards */
struct simrnic_func *simrnic_ib_create(struct pci_dev *pdev, struct simrnic_port *port, int vf);
void simrnic_ib_destroy(struct simrnic_func *func);
bool simrnic_ib_lids_suffice(void);

/* simrnic_ud.c: the wire between InfiniBand ports */
int simrnic_ud_init(void);
void simrnic_ud_exit(void);

/* simrnic_net.c: Ethernet net devices */
struct simrnic_func *simrnic_net_create(struct device *dev, struct simrnic_port *port, int vport);
void simrnic_net_destroy(struct simrnic_func *func);
void simrnic_net_update_filter(struct simrnic_func *func);

/* simrnic_admin.c: VF administration */
struct simrnic_vport *simrnic_admin(struct simrnic_func *pf, int vf);
int simrnic_admin_link_state(struct simrnic_func *pf, int vf, int state);
int simrnic_set_vf_mac(struct net_device *netdev, int vf, u8 *mac);
int simrnic_set_vf_vlan(struct net_device *netdev, int vf, u16 vlan, u8 qos, __be16 proto);
int simrnic_set_vf_rate(struct net_device *netdev, int vf, int min_tx_rate, int max_tx_rate);
int simrnic_set_vf_spoofchk(struct net_device *netdev, int vf, bool setting);
int simrnic_set_vf_trust(struct net_device *netdev, int vf, bool setting);
int simrnic_set_vf_link_state(struct net_device *netdev, int vf, int state);
int simrnic_get_vf_config(struct net_device *netdev, int vf, struct ifla_vf_info *info);
int simrnic_get_vf_stats(struct net_device *netdev, int vf, struct ifla_vf_stats *stats);

/* simrnic_ethtool.c */
extern const struct ethtool_ops simrnic_ethtool_ops;

/* simrnic_flow.c: flow control */
extern const struct dcbnl_rtnl_ops simrnic_dcbnl_ops;
void simrnic_get_pauseparam(struct net_device *netdev, struct ethtool_pauseparam *pause);
int simrnic_set_pauseparam(struct net_device *netdev, struct ethtool_pauseparam *pause);

/* simrnic_pause.c: counters of flow control; all under RTNL */
#define SIMRNIC_PAUSE_COUNTERS 7
extern const char simrnic_pause_names[SIMRNIC_PAUSE_COUNTERS][ETH_GSTRING_LEN];
void simrnic_pause_read(const struct simrnic_port *port, u64 *values);
void simrnic_pause_debugfs(struct simrnic_port *port);

/* simrnic_switch.c: frames between functions */
netdev_tx_t simrnic_switch_xmit(struct sk_buff *skb, struct net_device *netdev);
netdev_tx_t simrnic_switch_to_vf(struct sk_buff *skb, struct simrnic_vport *vport);
void simrnic_switch_rdma(struct sk_buff *skb, struct simrnic_func *func);
void simrnic_switch_id(const struct simrnic_port *port, struct netdev_phys_item_id *id);

/* simrnic_rep.c: switchdev mode */
int simrnic_reps_update(struct simrnic_func *pf, unsigned int count);

/* simrnic_devlink.c: the switch's mode, and RDMA on or off */
struct devlink *simrnic_devlink_create(struct simrnic_func *pf);
void simrnic_devlink_destroy(struct devlink *devlink);

/* simrnic_rdma.c: RDMA devices; simrnic_rdma.h has their internals */
int simrnic_rdma_init(void);
void simrnic_rdma_exit(void);
int simrnic_rdma_create(struct simrnic_func *func);
void simrnic_rdma_destroy(struct simrnic_func *func);
void simrnic_rdma_update_link(struct simrnic_func *func);
bool simrnic_rdma_receive(struct simrnic_func *func, struct sk_buff *skb);

/* simrnic_debugfs.c: cables and faults */
void simrnic_debugfs_create(void);
void simrnic_debugfs_destroy(void);
void simrnic_debugfs_add_port(struct simrnic_port *port);

static inline unsigned int simrnic_vports(void)
{
	return simrnic_vfs + simrnic_sfs;
}

static inline bool simrnic_is_pf(const struct simrnic_func *func)
{
	return func->vport == &func->port->pf;
}

static inline int simrnic_vport_index(const struct simrnic_func *func)
{
	return func->vport - func->port->vfs;
}

static inline bool simrnic_is_vf(const struct simrnic_func *func)
{
	return !simrnic_is_pf(func) && simrnic_vport_index(func) < simrnic_vfs;
}

static inline int simrnic_sf_index(const struct simrnic_func *func)
{
	return simrnic_vport_index(func) - simrnic_vfs;
}

/* Without a subnet manager an InfiniBand port stays in INIT. */
static inline bool simrnic_ib_active(const struct simrnic_func *func)
{
	return READ_ONCE(func->link) && READ_ONCE(func->port->managed);
}

static inline void simrnic_count(struct simrnic_func *func, enum simrnic_counter counter, u64 by)
{
	atomic64_add(by, &func->counters[counter]);
}

static inline u64 simrnic_read(const struct simrnic_func *func, enum simrnic_counter counter)
{
	return atomic64_read(&func->counters[counter]);
}

#endif
