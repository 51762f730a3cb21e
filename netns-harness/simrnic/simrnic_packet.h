/* SPDX-License-Identifier: GPL-2.0 */
/* Packets of RDMA: their headers, and the way to and from the net device's wire. */
#ifndef SIMRNIC_PACKET_H
#define SIMRNIC_PACKET_H

#include <linux/skbuff.h>
#include <rdma/ib_pack.h>
#include <rdma/ib_verbs.h>
#include "simrnic.h"

#define SIMRNIC_NO_VLAN	   0xffff
#define SIMRNIC_ICRC_BYTES 4
#define SIMRNIC_PSN_MASK   0xffffff

struct simrnic_bth {
	u8 opcode;
	u8 flags; /* solicited event: bit 7; bytes of padding: bits 4 and 5 */
	__be16 pkey;
	__be32 dqpn;
	__be32 psn; /* bit 31: the sender wants an acknowledgement */
};

struct simrnic_reth {
	__be64 addr;
	__be32 key;
	__be32 length;
} __packed;

struct simrnic_atomic_eth {
	__be64 addr;
	__be32 key;
	__be64 swap_add;
	__be64 compare;
} __packed;

struct simrnic_deth {
	__be32 qkey;
	__be32 sqpn;
};

#define SIMRNIC_OPCODE_CNP 0x81 /* congestion notification, annex A17 */
#define SIMRNIC_CNP_BYTES  16

#define SIMRNIC_AETH_ACK   0x1f /* without a count of credits */
#define SIMRNIC_AETH_RNR   0x20
#define SIMRNIC_AETH_NAK   0x60

enum simrnic_nak {
	SIMRNIC_NAK_SEQUENCE,
	SIMRNIC_NAK_INVALID,
	SIMRNIC_NAK_ACCESS,
	SIMRNIC_NAK_OPERATION,
};

/* How a packet gets to its destination. */
struct simrnic_path {
	enum rdma_network_type network;
	u8 smac[ETH_ALEN];
	u8 dmac[ETH_ALEN];
	u16 vlan;
	u16 dlid;     /* InfiniBand */
	bool has_grh; /* InfiniBand: a global routing header; RoCE always has one */
	u8 sl;
	u8 traffic_class;
	u8 hop_limit;
	u32 flow_label;
	union ib_gid sgid;
	union ib_gid dgid;
};

/* What is to be sent. The extension headers and the payload are already in the packet. */
struct simrnic_tx {
	u8 opcode;
	bool solicited;
	bool ack_request;
	bool congested; /* RoCE v2: a switch on its way has marked it */
	u16 pkey;
	u32 sqpn;
	u32 dqpn;
	u32 psn;
};

/* What has arrived; kept in skb->cb. */
struct simrnic_rx {
	enum rdma_network_type network;
	u16 network_offset; /* of the IP or global routing header */
	u16 bth_offset;
	u16 length; /* of extension headers and payload */
	u16 vlan;
	u16 slid; /* InfiniBand */
	u8 sl;
	u8 opcode;
	bool solicited;
	bool ack_request;
	bool congested;
	u16 pkey;
	u32 dqpn;
	u32 psn;
	unsigned long due; /* in jiffies: when it arrives */
};

static inline struct simrnic_rx *simrnic_rx(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct simrnic_rx) > sizeof(skb->cb));
	return (struct simrnic_rx *)skb->cb;
}

/* Positive if packet a comes after packet b. */
static inline int simrnic_psn_compare(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

static inline u32 simrnic_psn_add(u32 psn, int n)
{
	return (psn + n) & SIMRNIC_PSN_MASK;
}

/* simrnic_packet.c */
int simrnic_path_set(struct simrnic_path *path, const struct rdma_ah_attr *attr,
		     const struct ib_gid_attr *sgid);
struct sk_buff *simrnic_packet_new(unsigned int length, gfp_t gfp);
void simrnic_packet_finish(struct sk_buff *skb, const struct simrnic_path *path,
			   const struct simrnic_tx *tx);
bool simrnic_packet_find(const struct sk_buff *skb, struct simrnic_rx *rx);
bool simrnic_packet_parse(struct sk_buff *skb);
bool simrnic_packet_parse_transport(struct sk_buff *skb, struct simrnic_rx *rx,
				    unsigned int length);
void simrnic_packet_gids(const struct sk_buff *skb, union ib_gid *sgid, union ib_gid *dgid);

#endif
