// SPDX-License-Identifier: GPL-2.0
/*
 * Packets in Ethernet frames: RoCE v2 in IPv4 or IPv6 and UDP, and RoCE v1 behind a global routing
 * header. The invariant CRC at their end is zero and not checked.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include "simrnic_packet.h"

#define SIMRNIC_HEADROOM (ETH_HLEN + VLAN_HLEN + 40 + sizeof(struct udphdr) + 12 + NET_SKB_PAD)

/* A copy of the GID's addresses, so that the path does not hold the GID. */
int simrnic_path_set(struct simrnic_path *path, const struct rdma_ah_attr *attr,
		     const struct ib_gid_attr *sgid)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	int err;

	memset(path, 0, sizeof(*path));
	path->sl = rdma_ah_get_sl(attr);
	path->vlan = SIMRNIC_NO_VLAN;
	if (attr->type == RDMA_AH_ATTR_TYPE_IB) {
		path->network = RDMA_NETWORK_IB;
		path->dlid = rdma_ah_get_dlid(attr);
		path->has_grh = rdma_ah_get_ah_flags(attr) & IB_AH_GRH;
		path->dgid = grh->dgid;
		return 0;
	}
	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE || !sgid)
		return -EINVAL;
	err = rdma_read_gid_l2_fields(sgid, &path->vlan, path->smac);
	if (err)
		return err;
	if (path->vlan > VLAN_VID_MASK)
		path->vlan = SIMRNIC_NO_VLAN;
	path->network = rdma_gid_attr_network_type(sgid);
	ether_addr_copy(path->dmac, attr->roce.dmac);
	path->sgid = sgid->gid;
	path->dgid = grh->dgid;
	path->traffic_class = grh->traffic_class;
	path->hop_limit = grh->hop_limit ? grh->hop_limit : 64;
	path->flow_label = grh->flow_label;
	return 0;
}

/* A packet with room for `length` bytes of extension headers and payload. */
struct sk_buff *simrnic_packet_new(unsigned int length, gfp_t gfp)
{
	unsigned int tail = (-length & 3) + SIMRNIC_ICRC_BYTES;
	struct sk_buff *skb = alloc_skb(SIMRNIC_HEADROOM + length + tail, gfp);

	if (!skb)
		return NULL;
	skb_reserve(skb, SIMRNIC_HEADROOM);
	skb_put(skb, length);
	skb_put_zero(skb, tail);
	skb->cb[0] = -length & 3;
	return skb;
}

static void simrnic_push_udp(struct sk_buff *skb, u16 sport)
{
	struct udphdr *udp = skb_push(skb, sizeof(*udp));

	udp->source = htons(sport);
	udp->dest = htons(ROCE_V2_UDP_DPORT);
	udp->len = htons(skb->len);
	udp->check = 0;
}

static void simrnic_push_v4(struct sk_buff *skb, const struct simrnic_path *path, u8 traffic_class)
{
	struct iphdr *ip = skb_push(skb, sizeof(*ip));

	memset(ip, 0, sizeof(*ip));
	ip->version = 4;
	ip->ihl = 5;
	ip->tos = traffic_class;
	ip->tot_len = htons(skb->len);
	ip->frag_off = htons(IP_DF);
	ip->ttl = path->hop_limit;
	ip->protocol = IPPROTO_UDP;
	memcpy(&ip->saddr, path->sgid.raw + 12, sizeof(ip->saddr));
	memcpy(&ip->daddr, path->dgid.raw + 12, sizeof(ip->daddr));
	ip_send_check(ip);
	skb->protocol = htons(ETH_P_IP);
}

/* A global routing header has the same layout. */
static void simrnic_push_v6(struct sk_buff *skb, const struct simrnic_path *path, u8 traffic_class,
			    u8 next)
{
	unsigned int length = skb->len;
	struct ipv6hdr *ip = skb_push(skb, sizeof(*ip));

	ip6_flow_hdr(ip, traffic_class, htonl(path->flow_label & 0xfffff));
	ip->payload_len = htons(length);
	ip->nexthdr = next;
	ip->hop_limit = path->hop_limit;
	memcpy(&ip->saddr, path->sgid.raw, sizeof(ip->saddr));
	memcpy(&ip->daddr, path->dgid.raw, sizeof(ip->daddr));
	skb->protocol = htons(next == IPPROTO_UDP ? ETH_P_IPV6 : ETH_P_IBOE);
}

void simrnic_packet_finish(struct sk_buff *skb, const struct simrnic_path *path,
			   const struct simrnic_tx *tx)
{
	u16 sport = rdma_get_udp_sport(path->flow_label, tx->sqpn, tx->dqpn);
	u8 traffic_class = path->traffic_class | (tx->congested ? INET_ECN_CE : 0);
	u8 pad = skb->cb[0];
	struct simrnic_bth *bth = skb_push(skb, sizeof(*bth));
	struct ethhdr *eth;

	bth->opcode = tx->opcode;
	bth->flags = tx->solicited << 7 | pad << 4;
	bth->pkey = cpu_to_be16(tx->pkey);
	bth->dqpn = cpu_to_be32(tx->dqpn);
	bth->psn = cpu_to_be32(tx->psn | (u32)tx->ack_request << 31);
	switch (path->network) {
	case RDMA_NETWORK_IB:
		return;
	case RDMA_NETWORK_IPV4:
		simrnic_push_udp(skb, sport);
		simrnic_push_v4(skb, path, traffic_class);
		break;
	case RDMA_NETWORK_IPV6:
		simrnic_push_udp(skb, sport);
		simrnic_push_v6(skb, path, traffic_class, IPPROTO_UDP);
		break;
	case RDMA_NETWORK_ROCE_V1:
		simrnic_push_v6(skb, path, path->traffic_class, 0x1b);
		break;
	}
	skb_reset_network_header(skb);
	eth = skb_push(skb, sizeof(*eth));
	ether_addr_copy(eth->h_source, path->smac);
	ether_addr_copy(eth->h_dest, path->dmac);
	eth->h_proto = skb->protocol;
	skb_reset_mac_header(skb);
	if (path->vlan != SIMRNIC_NO_VLAN)
		__vlan_hwaccel_put_tag(skb, htons(ETH_P_8021Q),
				       path->vlan | (path->sl & 7) << VLAN_PRIO_SHIFT);
}

/* Receiving */

static __be16 simrnic_payload_type(const struct sk_buff *skb, int *offset, u16 *vlan)
{
	__be16 type = eth_hdr(skb)->h_proto;
	const struct vlan_hdr *tag;
	struct vlan_hdr buffer;

	*offset = ETH_HLEN;
	*vlan = skb_vlan_tag_present(skb) ? skb_vlan_tag_get_id(skb) : 0;
	while (eth_type_vlan(type)) {
		tag = skb_header_pointer(skb, *offset, sizeof(buffer), &buffer);
		if (!tag)
			return 0;
		if (!*vlan)
			*vlan = ntohs(tag->h_vlan_TCI) & VLAN_VID_MASK;
		type = tag->h_vlan_encapsulated_proto;
		*offset += VLAN_HLEN;
	}
	if (!*vlan)
		*vlan = SIMRNIC_NO_VLAN;
	return type;
}

/* Whether a frame is RoCE, and where its base transport header is. */
bool simrnic_packet_find(const struct sk_buff *skb, struct simrnic_rx *rx)
{
	union {
		struct iphdr v4;
		struct ipv6hdr v6;
	} buffer;
	struct udphdr udp_buffer;
	const struct udphdr *udp;
	const struct ipv6hdr *v6;
	const struct iphdr *v4;
	int offset;

	switch (simrnic_payload_type(skb, &offset, &rx->vlan)) {
	case htons(ETH_P_IP):
		v4 = skb_header_pointer(skb, offset, sizeof(*v4), &buffer);
		if (!v4 || v4->protocol != IPPROTO_UDP)
			return false;
		rx->network = RDMA_NETWORK_IPV4;
		rx->congested = INET_ECN_is_ce(v4->tos);
		rx->network_offset = offset;
		offset += v4->ihl * 4;
		break;
	case htons(ETH_P_IPV6):
		v6 = skb_header_pointer(skb, offset, sizeof(*v6), &buffer);
		if (!v6 || v6->nexthdr != IPPROTO_UDP)
			return false;
		rx->network = RDMA_NETWORK_IPV6;
		rx->congested = INET_ECN_is_ce(ipv6_get_dsfield(v6));
		rx->network_offset = offset;
		offset += sizeof(*v6);
		break;
	case htons(ETH_P_IBOE):
		rx->network = RDMA_NETWORK_ROCE_V1;
		rx->network_offset = offset;
		rx->bth_offset = offset + sizeof(*v6);
		return true;
	default:
		return false;
	}
	udp = skb_header_pointer(skb, offset, sizeof(udp_buffer), &udp_buffer);
	if (!udp || udp->dest != htons(ROCE_V2_UDP_DPORT))
		return false;
	rx->bth_offset = offset + sizeof(*udp);
	return true;
}

/* The length without what Ethernet may have added. */
static unsigned int simrnic_transport_length(const struct sk_buff *skb, const struct simrnic_rx *rx)
{
	const struct udphdr *udp;

	if (rx->network == RDMA_NETWORK_ROCE_V1)
		return ntohs(((struct ipv6hdr *)(skb->data + rx->network_offset))->payload_len);
	udp = (struct udphdr *)(skb->data + rx->bth_offset) - 1;
	return max_t(unsigned int, ntohs(udp->len), sizeof(*udp)) - sizeof(*udp);
}

/* Fills skb->cb from the base transport header and what is known before it. */
bool simrnic_packet_parse_transport(struct sk_buff *skb, struct simrnic_rx *rx, unsigned int length)
{
	const struct simrnic_bth *bth = (void *)skb->data + rx->bth_offset;
	unsigned int pad;

	if (length > skb->len - rx->bth_offset || length < sizeof(*bth) + SIMRNIC_ICRC_BYTES)
		return false;
	pad = bth->flags >> 4 & 3;
	if (length < sizeof(*bth) + SIMRNIC_ICRC_BYTES + pad)
		return false;
	rx->length = length - sizeof(*bth) - SIMRNIC_ICRC_BYTES - pad;
	rx->opcode = bth->opcode;
	rx->solicited = bth->flags >> 7;
	rx->pkey = be16_to_cpu(bth->pkey);
	rx->dqpn = be32_to_cpu(bth->dqpn) & 0xffffff;
	rx->psn = be32_to_cpu(bth->psn) & SIMRNIC_PSN_MASK;
	rx->ack_request = be32_to_cpu(bth->psn) >> 31;
	*simrnic_rx(skb) = *rx;
	return true;
}

/* False: too short, or not RoCE. */
bool simrnic_packet_parse(struct sk_buff *skb)
{
	struct simrnic_rx rx = {};

	if (skb_linearize(skb) || !simrnic_packet_find(skb, &rx))
		return false;
	if (skb->len < rx.bth_offset + sizeof(struct simrnic_bth) + SIMRNIC_ICRC_BYTES)
		return false;
	if (skb_vlan_tag_present(skb))
		rx.sl = skb->vlan_tci >> VLAN_PRIO_SHIFT;
	return simrnic_packet_parse_transport(skb, &rx, simrnic_transport_length(skb, &rx));
}

void simrnic_packet_gids(const struct sk_buff *skb, union ib_gid *sgid, union ib_gid *dgid)
{
	const struct simrnic_rx *rx = (const struct simrnic_rx *)skb->cb;
	const void *header = skb->data + rx->network_offset;

	if (rx->network == RDMA_NETWORK_IPV4) {
		const struct iphdr *ip = header;

		ipv6_addr_set_v4mapped(ip->saddr, (struct in6_addr *)sgid);
		ipv6_addr_set_v4mapped(ip->daddr, (struct in6_addr *)dgid);
	} else {
		const struct ipv6hdr *ip = header;

		memcpy(sgid, &ip->saddr, sizeof(*sgid));
		memcpy(dgid, &ip->daddr, sizeof(*dgid));
	}
}
