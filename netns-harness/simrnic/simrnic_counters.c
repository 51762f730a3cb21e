// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA counters: hw_counters, and the performance management class, which fills ports/1/counters.
 */
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>
#include "simrnic_rdma.h"

#define SIMRNIC_FIRST_HW_COUNTER SIMRNIC_RX_WRITE_REQUESTS
#define SIMRNIC_HW_COUNTERS	 (SIMRNIC_COUNTERS - SIMRNIC_FIRST_HW_COUNTER)
#define SIMRNIC_HW(counter)	 (SIMRNIC_##counter - SIMRNIC_FIRST_HW_COUNTER)

/* With mlx5's names and meanings. */
static const struct rdma_stat_desc simrnic_hw_counters[SIMRNIC_HW_COUNTERS] = {
	[SIMRNIC_HW(RX_WRITE_REQUESTS)].name = "rx_write_requests",
	[SIMRNIC_HW(RX_READ_REQUESTS)].name = "rx_read_requests",
	[SIMRNIC_HW(OUT_OF_SEQUENCE)].name = "out_of_sequence",
	[SIMRNIC_HW(DUPLICATE_REQUEST)].name = "duplicate_request",
	[SIMRNIC_HW(OUT_OF_BUFFER)].name = "out_of_buffer",
	[SIMRNIC_HW(PACKET_SEQ_ERR)].name = "packet_seq_err",
	[SIMRNIC_HW(IMPLIED_NAK_SEQ_ERR)].name = "implied_nak_seq_err",
	[SIMRNIC_HW(LOCAL_ACK_TIMEOUT_ERR)].name = "local_ack_timeout_err",
	[SIMRNIC_HW(RNR_NAK_RETRY_ERR)].name = "rnr_nak_retry_err",
	[SIMRNIC_HW(ECN_MARKED)].name = "np_ecn_marked_roce_packets",
	[SIMRNIC_HW(CNP_SENT)].name = "np_cnp_sent",
	[SIMRNIC_HW(CNP_HANDLED)].name = "rp_cnp_handled",
};

static struct rdma_hw_stats *simrnic_alloc_hw_port_stats(struct ib_device *ib, u32 port)
{
	return rdma_alloc_hw_stats_struct(simrnic_hw_counters, SIMRNIC_HW_COUNTERS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int simrnic_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port,
				int index)
{
	const struct simrnic_func *func = simrnic_func_of(ib);
	int i;

	if (!port)
		return -EOPNOTSUPP;
	if (port > 1)
		return SIMRNIC_HW_COUNTERS;
	for (i = 0; i < SIMRNIC_HW_COUNTERS; i++)
		stats->value[i] = simrnic_read(func, SIMRNIC_FIRST_HW_COUNTER + i);
	stats->value[SIMRNIC_HW(OUT_OF_SEQUENCE)] += READ_ONCE(func->port->out_of_sequence);
	return SIMRNIC_HW_COUNTERS;
}

static void simrnic_fill_counters_ext(const struct simrnic_func *func,
				      struct ib_pma_portcounters_ext *counters)
{
	/* The unit of the data counters is a word of four bytes. */
	counters->port_xmit_data = cpu_to_be64(simrnic_read(func, SIMRNIC_TX_RDMA_BYTES) / 4);
	counters->port_rcv_data = cpu_to_be64(simrnic_read(func, SIMRNIC_RX_RDMA_BYTES) / 4);
	counters->port_xmit_packets = cpu_to_be64(simrnic_read(func, SIMRNIC_TX_RDMA_PACKETS));
	counters->port_rcv_packets = cpu_to_be64(simrnic_read(func, SIMRNIC_RX_RDMA_PACKETS));
	counters->port_unicast_xmit_packets = counters->port_xmit_packets;
	counters->port_unicast_rcv_packets = counters->port_rcv_packets;
}

/* Only answers what the core asks to fill ports/1/counters. */
static int simrnic_process_mad(struct ib_device *ib, int flags, u32 port, const struct ib_wc *wc,
			       const struct ib_grh *grh, const struct ib_mad *in,
			       struct ib_mad *out, size_t *out_size, u16 *out_pkey_index)
{
	const struct ib_class_port_info info = { .capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH };
	void *answer = out->data + 40; /* the data of the performance management class */

	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_SUCCESS;
	memset(out->data, 0, sizeof(out->data));
	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		memcpy(answer, &info, sizeof(info));
		break;
	case IB_PMA_PORT_COUNTERS_EXT:
		if (port == 1)
			simrnic_fill_counters_ext(simrnic_func_of(ib), answer);
		break;
	case IB_PMA_PORT_COUNTERS:
		break; /* no errors to report */
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

const struct ib_device_ops simrnic_counter_ops = {
	.alloc_hw_port_stats = simrnic_alloc_hw_port_stats,
	.get_hw_stats = simrnic_get_hw_stats,
	.process_mad = simrnic_process_mad,
};
