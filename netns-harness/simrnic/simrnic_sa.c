// SPDX-License-Identifier: GPL-2.0
/*
 * The subnet administrator of every InfiniBand subnet, as far as IPoIB needs it. It keeps no
 * state. A group's LID follows from its GID, a group exists as soon as somebody asks for it, and
 * the delivery of packets knows its members.
 */
#include <linux/crc32.h>
#include <rdma/ib_sa.h>
#include "simrnic_rdma.h"

#define SIMRNIC_QKEY	       0x0b1b
#define SIMRNIC_SELECT(value)  (IB_SA_EQ << 6 | (value))
#define SIMRNIC_RESPONSE_TIME  18 /* 4 us * 2^18 = 1 s */
#define SIMRNIC_SA_NO_RECORDS  0x0300
#define SIMRNIC_MULTICAST_LIDS 0x3fff

/* The format on the wire. */
struct simrnic_mcmember {
	union ib_gid mgid;
	union ib_gid port_gid;
	__be32 qkey;
	__be16 mlid;
	u8 mtu;
	u8 traffic_class;
	__be16 pkey;
	u8 rate;
	u8 life_time;
	__be32 sl_flow_hop;
	u8 scope_state;
	u8 proxy_join;
} __packed;

struct simrnic_path_record {
	__be64 service_id;
	union ib_gid dgid;
	union ib_gid sgid;
	__be16 dlid;
	__be16 slid;
	__be32 raw_flow_hop;
	u8 traffic_class;
	u8 reversible_count;
	__be16 pkey;
	__be16 qos_sl;
	u8 mtu;
	u8 rate;
	u8 life_time;
	u8 preference;
} __packed;

static u16 simrnic_mlid(const union ib_gid *mgid)
{
	return 0xc000 + crc32(0, mgid->raw, sizeof(mgid->raw)) % SIMRNIC_MULTICAST_LIDS;
}

static void simrnic_sa_class_port_info(struct ib_sa_mad *answer)
{
	struct ib_class_port_info *info = (void *)answer->data;

	memset(answer->data, 0, sizeof(answer->data));
	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = IB_SA_CLASS_VERSION;
	ib_set_cpi_capmask2(info, IB_SA_CAP_MASK2_SENDONLY_FULL_MEM_SUPPORT);
	ib_set_cpi_resp_time(info, SIMRNIC_RESPONSE_TIME);
}

/* IPoIB chooses these values for its groups. 2044 is the MTU that most fabrics give IPoIB. */
static void simrnic_sa_join(struct ib_sa_mad *answer)
{
	struct simrnic_mcmember *member = (void *)answer->data;

	member->qkey = cpu_to_be32(SIMRNIC_QKEY);
	member->mlid = cpu_to_be16(simrnic_mlid(&member->mgid));
	member->mtu = SIMRNIC_SELECT(IB_MTU_2048);
	member->rate = SIMRNIC_SELECT(IB_RATE_100_GBPS);
	member->life_time = SIMRNIC_SELECT(SIMRNIC_RESPONSE_TIME);
	member->traffic_class = 0;
	member->sl_flow_hop = 0;
}

static u16 simrnic_sa_path(const struct simrnic_func *from, struct ib_sa_mad *answer)
{
	struct simrnic_path_record *path = (void *)answer->data;
	u16 lid = simrnic_ud_find_lid(from, &path->dgid);

	if (!lid)
		return SIMRNIC_SA_NO_RECORDS;
	path->dlid = cpu_to_be16(lid);
	path->slid = cpu_to_be16(from->lid);
	/* A hop limit says that packets need a global routing header. */
	path->raw_flow_hop = cpu_to_be32(simrnic_ib_grh ? 1 : 0);
	path->reversible_count = 0x80 | 1;
	path->qos_sl = 0;
	path->mtu = SIMRNIC_SELECT(IB_MTU_4096);
	path->rate = SIMRNIC_SELECT(IB_RATE_100_GBPS);
	path->life_time = SIMRNIC_SELECT(SIMRNIC_RESPONSE_TIME);
	return 0;
}

/* False if nobody answers such a request. */
bool simrnic_sa_answer(const struct simrnic_func *from, const struct ib_sa_mad *request,
		       struct ib_sa_mad *answer)
{
	u8 method = request->mad_hdr.method;
	u16 status = 0;

	if (request->mad_hdr.mgmt_class != IB_MGMT_CLASS_SUBN_ADM || method & IB_MGMT_METHOD_RESP)
		return false;
	*answer = *request;
	answer->mad_hdr.method =
		method == IB_SA_METHOD_DELETE ? IB_SA_METHOD_DELETE_RESP : IB_MGMT_METHOD_GET_RESP;
	switch (be16_to_cpu(request->mad_hdr.attr_id)) {
	case IB_SA_ATTR_CLASS_PORTINFO:
		simrnic_sa_class_port_info(answer);
		break;
	case IB_SA_ATTR_MC_MEMBER_REC:
		if (method == IB_MGMT_METHOD_SET)
			simrnic_sa_join(answer);
		break;
	case IB_SA_ATTR_PATH_REC:
		status = simrnic_sa_path(from, answer);
		break;
	default:
		status = IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	}
	answer->mad_hdr.status = cpu_to_be16(status);
	return true;
}
