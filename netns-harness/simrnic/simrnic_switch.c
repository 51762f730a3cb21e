// SPDX-License-Identifier: GPL-2.0
/*
 * The embedded switch of each port, and the wire between the ports. A frame goes to those
 * functions of the sender's port whose filters accept its destination. It also goes to the wire,
 * unless one of these functions owns the destination.
 */
#include <linux/if_vlan.h>
#include "simrnic_packet.h"

struct simrnic_frame {
	struct sk_buff *skb;
	struct simrnic_func *source;
	unsigned int len;
	bool roce;
	bool from_rdma; /* sent by an RDMA device, not by a net device */
	bool write_request;
	bool read_request;
	bool checksummed; /* the sending card did it, so the receiver need not check */
	bool owned;	  /* its unicast destination was found on this port */
};

static void simrnic_look_at_roce(struct simrnic_frame *frame)
{
	struct simrnic_rx rx;
	const u8 *opcode;
	u8 buffer;

	frame->roce = simrnic_packet_find(frame->skb, &rx);
	if (!frame->roce)
		return;
	opcode = skb_header_pointer(frame->skb, rx.bth_offset, sizeof(buffer), &buffer);
	if (!opcode)
		return;
	switch (*opcode & 0x1f) {
	case IB_OPCODE_RDMA_WRITE_FIRST:
	case IB_OPCODE_RDMA_WRITE_ONLY:
	case IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE:
		frame->write_request = true;
		break;
	case IB_OPCODE_RDMA_READ_REQUEST:
		frame->read_request = true;
		break;
	}
}

/* VLAN ID and protocol of the outer tag, which may be in the frame or beside it. */
static bool simrnic_outer_tag(const struct sk_buff *skb, __be16 *proto, u16 *vlan)
{
	const struct vlan_hdr *tag;
	struct vlan_hdr buffer;

	if (skb_vlan_tag_present(skb)) {
		*proto = skb->vlan_proto;
		*vlan = skb_vlan_tag_get_id(skb);
		return true;
	}
	*proto = eth_hdr(skb)->h_proto;
	if (!eth_type_vlan(*proto))
		return false;
	tag = skb_header_pointer(skb, ETH_HLEN, sizeof(buffer), &buffer);
	if (!tag)
		return false;
	*vlan = ntohs(tag->h_vlan_TCI) & VLAN_VID_MASK;
	return true;
}

static bool simrnic_listed(const struct simrnic_filter *filter, const u8 *addr)
{
	unsigned int i;

	for (i = 0; i < filter->count; i++)
		if (ether_addr_equal(filter->addr[i], addr))
			return true;
	return false;
}

/* A function's RDMA device can send to itself, as between two macvlan children. */
static bool simrnic_accepts(struct simrnic_func *func, struct simrnic_frame *frame)
{
	const struct simrnic_filter *filter = rcu_dereference(func->filter);
	const u8 *dest = eth_hdr(frame->skb)->h_dest;

	if (!filter || (func == frame->source && !frame->from_rdma))
		return false;
	if (is_broadcast_ether_addr(dest))
		return true;
	if (is_multicast_ether_addr(dest))
		return filter->all_multicast || simrnic_listed(filter, dest);
	if (simrnic_listed(filter, dest)) {
		frame->owned = true;
		return true;
	}
	return filter->all_unicast && func != frame->source;
}

/* A VF with an administrative VLAN only gets frames of that VLAN, without the tag. */
static bool simrnic_admit_vlan(const struct simrnic_func *func, struct sk_buff *skb)
{
	u16 vlan = READ_ONCE(func->vport->vlan), tag;
	__be16 proto;

	if (!vlan)
		return true;
	return simrnic_outer_tag(skb, &proto, &tag) && tag == vlan &&
	       proto == READ_ONCE(func->vport->vlan_proto) && !skb_vlan_pop(skb);
}

static void simrnic_count_receipt(struct simrnic_func *func, const struct simrnic_frame *frame)
{
	const u8 *dest = eth_hdr(frame->skb)->h_dest;

	simrnic_count(func, SIMRNIC_RX_PACKETS, 1);
	simrnic_count(func, SIMRNIC_RX_BYTES, frame->len);
	if (is_broadcast_ether_addr(dest))
		simrnic_count(func, SIMRNIC_RX_BROADCAST, 1);
	else if (is_multicast_ether_addr(dest))
		simrnic_count(func, SIMRNIC_RX_MULTICAST, 1);
}

static void simrnic_count_roce(struct simrnic_func *func, const struct simrnic_frame *frame)
{
	simrnic_count(func, SIMRNIC_RX_RDMA_PACKETS, 1);
	simrnic_count(func, SIMRNIC_RX_RDMA_BYTES, frame->len);
	simrnic_count(func, SIMRNIC_RX_WRITE_REQUESTS, frame->write_request);
	simrnic_count(func, SIMRNIC_RX_READ_REQUESTS, frame->read_request);
}

/* A promiscuous net device also gets frames for others, an RDMA device does not. */
static bool simrnic_is_for(struct simrnic_func *func, const struct simrnic_frame *frame)
{
	const struct simrnic_filter *filter = rcu_dereference(func->filter);
	const u8 *dest = eth_hdr(frame->skb)->h_dest;

	return is_multicast_ether_addr(dest) || (filter && simrnic_listed(filter, dest));
}

/* RoCE for a queue pair goes past the net device. Other RoCE may be for rdma_rxe on top of it. */
static void simrnic_receive(struct simrnic_func *func, struct simrnic_frame *frame)
{
	struct sk_buff *skb;

	if (!netif_running(func->netdev) || !netif_carrier_ok(func->netdev))
		return;
	skb = skb_clone(frame->skb, GFP_ATOMIC);
	if (!skb) {
		simrnic_count(func, SIMRNIC_RX_DROPPED, 1);
		return;
	}
	if (!simrnic_admit_vlan(func, skb)) {
		kfree_skb(skb);
		return;
	}
	if (frame->roce && simrnic_is_for(func, frame) && simrnic_rdma_receive(func, skb)) {
		simrnic_count_roce(func, frame);
		return;
	}
	if (func == frame->source) {
		kfree_skb(skb);
		return;
	}
	if (frame->checksummed && func->netdev->features & NETIF_F_RXCSUM)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	if (dev_forward_skb(func->netdev, skb) != NET_RX_SUCCESS) {
		simrnic_count(func, SIMRNIC_RX_DROPPED, 1);
		return;
	}
	simrnic_count_receipt(func, frame);
	if (frame->roce)
		simrnic_count_roce(func, frame);
}

static void simrnic_offer(struct simrnic_vport *vport, struct simrnic_frame *frame)
{
	struct simrnic_func *func = rcu_dereference(vport->func);

	if (func && simrnic_accepts(func, frame))
		simrnic_receive(func, frame);
}

static void simrnic_flood_port(struct simrnic_port *port, struct simrnic_frame *frame)
{
	unsigned int vf = READ_ONCE(port->switchdev) ? simrnic_vfs : 0;

	simrnic_offer(&port->pf, frame);
	for (; vf < simrnic_vports(); vf++)
		simrnic_offer(&port->vfs[vf], frame);
}

static void simrnic_flood_wire(struct simrnic_port *from, struct simrnic_frame *frame)
{
	unsigned int nic, port;

	for (nic = 0; nic < simrnic_nics; nic++) {
		for (port = 0; port < simrnic_ports; port++) {
			struct simrnic_port *to = &simrnic_nic[nic]->ports[port];

			if (to != from && simrnic_port_link(to))
				simrnic_flood_port(to, frame);
		}
	}
}

static bool simrnic_spoofed(const struct simrnic_func *func, const struct sk_buff *skb)
{
	const struct simrnic_vport *vport = func->vport;
	const u8 *allowed = is_zero_ether_addr(vport->mac) ? func->netdev->dev_addr : vport->mac;

	return READ_ONCE(vport->spoofchk) && !ether_addr_equal(eth_hdr(skb)->h_source, allowed);
}

/* An administrative 802.1Q tag excludes a tag of the VF, but an 802.1ad tag goes around it. */
static bool simrnic_tag(const struct simrnic_func *func, struct sk_buff *skb)
{
	const struct simrnic_vport *vport = func->vport;
	u16 vlan = READ_ONCE(vport->vlan);
	__be16 proto = READ_ONCE(vport->vlan_proto);

	if (!vlan)
		return true;
	if (proto == htons(ETH_P_8021Q) && eth_type_vlan(eth_hdr(skb)->h_proto))
		return false;
	__vlan_hwaccel_put_tag(skb, proto, vlan | READ_ONCE(vport->qos) << VLAN_PRIO_SHIFT);
	return true;
}

/* In switchdev mode a VF only talks to its representor, once it has one. */
static void simrnic_represent(struct simrnic_func *func, struct sk_buff *skb)
{
	struct net_device *rep = rcu_dereference(func->vport->rep);
	struct sk_buff *clone = NULL;

	if (rep && netif_running(rep))
		clone = skb_clone(skb, GFP_ATOMIC);
	if (clone)
		dev_forward_skb(rep, clone);
}

/* Frames from a representor. */
netdev_tx_t simrnic_switch_to_vf(struct sk_buff *skb, struct simrnic_vport *vport)
{
	struct simrnic_frame frame = { .skb = skb, .len = skb->len };

	skb_tx_timestamp(skb);
	skb_reset_mac_header(skb);
	simrnic_look_at_roce(&frame);
	rcu_read_lock();
	simrnic_offer(vport, &frame);
	rcu_read_unlock();
	consume_skb(skb);
	return NETDEV_TX_OK;
}

void simrnic_switch_id(const struct simrnic_port *port, struct netdev_phys_item_id *id)
{
	const u8 mac[ETH_ALEN] = { 0x02, 0x52, port->nic->index, port->index };

	id->id_len = sizeof(mac);
	memcpy(id->id, mac, sizeof(mac));
}

static bool simrnic_admit(struct simrnic_func *func, struct sk_buff *skb)
{
	if (!netif_carrier_ok(func->netdev)) {
		simrnic_count(func, SIMRNIC_TX_DROPPED_LINK, 1);
		return false;
	}
	if (simrnic_spoofed(func, skb)) {
		simrnic_count(func, SIMRNIC_TX_DROPPED_SPOOF, 1);
		return false;
	}
	return true;
}

static void simrnic_forward(struct simrnic_func *func, struct simrnic_frame *frame)
{
	struct sk_buff *skb = frame->skb;

	rcu_read_lock();
	if (simrnic_is_vf(func) && READ_ONCE(func->port->switchdev)) {
		simrnic_offer(func->vport, frame);
		if (!frame->owned)
			simrnic_represent(func, skb);
	} else {
		simrnic_flood_port(func->port, frame);
		if (!frame->owned && simrnic_wire && simrnic_port_link(func->port))
			simrnic_flood_wire(func->port, frame);
	}
	rcu_read_unlock();
}

netdev_tx_t simrnic_switch_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct simrnic_func *func = netdev_priv(netdev);
	struct simrnic_frame frame = { .skb = skb, .source = func, .len = skb->len };

	skb_tx_timestamp(skb);
	skb_reset_mac_header(skb);
	if (!simrnic_admit(func, skb))
		goto drop;
	frame.checksummed = skb->ip_summed == CHECKSUM_PARTIAL;
	if (frame.checksummed && skb_checksum_help(skb))
		goto drop;
	simrnic_look_at_roce(&frame);
	if (!simrnic_tag(func, skb)) {
		simrnic_count(func, SIMRNIC_TX_DROPPED_VLAN, 1);
		goto drop;
	}
	simrnic_count(func, SIMRNIC_TX_PACKETS, 1);
	simrnic_count(func, SIMRNIC_TX_BYTES, frame.len);
	if (frame.roce) {
		simrnic_count(func, SIMRNIC_TX_RDMA_PACKETS, 1);
		simrnic_count(func, SIMRNIC_TX_RDMA_BYTES, frame.len);
	}
	simrnic_forward(func, &frame);
	consume_skb(skb);
	return NETDEV_TX_OK;

drop:
	kfree_skb(skb);
	return NETDEV_TX_OK;
}

/* An administrative tag excludes a tag of the VF here too, although it is beside the frame. */
static bool simrnic_tag_rdma(const struct simrnic_func *func, struct sk_buff *skb)
{
	if (!READ_ONCE(func->vport->vlan))
		return true;
	return !skb_vlan_tag_present(skb) && simrnic_tag(func, skb);
}

/* Frames of an RDMA device. It sends while its net device is up, as RoCE cards do. */
void simrnic_switch_rdma(struct sk_buff *skb, struct simrnic_func *func)
{
	struct simrnic_frame frame = {
		.skb = skb, .source = func, .len = skb->len, .from_rdma = true
	};

	skb->dev = func->netdev;
	local_bh_disable();
	if (!netif_running(func->netdev) || skb->len - ETH_HLEN > READ_ONCE(func->netdev->mtu)) {
		simrnic_count(func, SIMRNIC_TX_DROPPED_LINK, 1);
		goto out;
	}
	if (!simrnic_admit(func, skb))
		goto out;
	simrnic_look_at_roce(&frame);
	if (!simrnic_tag_rdma(func, skb)) {
		simrnic_count(func, SIMRNIC_TX_DROPPED_VLAN, 1);
		goto out;
	}
	simrnic_count(func, SIMRNIC_TX_RDMA_PACKETS, 1);
	simrnic_count(func, SIMRNIC_TX_RDMA_BYTES, frame.len);
	simrnic_forward(func, &frame);
out:
	local_bh_enable();
	consume_skb(skb);
}
