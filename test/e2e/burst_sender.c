// A client of ibv_rc_pingpong that sends more messages than the receiver has buffers, and gives up soon. Debian's
// programs either wait forever for a buffer, or do not print why they end.
//
//   burst_sender DEVICE GID_INDEX ADDRESS
//
// It stops itself (SIGSTOP) when it is connected. After SIGCONT it sends, and prints the first status that is an error.
#include <infiniband/verbs.h>

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kPort = 18515, kMessages = 8, kBytes = 64, kRnrRetries = 1 };

// What the ends of ibv_rc_pingpong tell each other: LID, queue pair, first packet, GID.
static const char kFormat[] = "%04x:%06x:%06x:";
enum { kGidAt = 4 + 1 + 6 + 1 + 6 + 1, kTextBytes = kGidAt + 32 + 1 };

struct peer {
    unsigned lid; // 0 for RoCE
    unsigned qpn;
    unsigned psn;
    union ibv_gid gid;
};

static void require(int condition, const char* what) {
    if (condition) return;
    perror(what);
    exit(2);
}

static struct ibv_context* open_device(const char* name) {
    struct ibv_device** list = ibv_get_device_list(NULL);
    require(list != NULL, "ibv_get_device_list");
    while (*list != NULL && strcmp(ibv_get_device_name(*list), name) != 0) ++list;
    require(*list != NULL, name);
    struct ibv_context* context = ibv_open_device(*list);
    require(context != NULL, "ibv_open_device");
    return context;
}

static struct ibv_qp* create_queue_pair(struct ibv_pd* pd, struct ibv_cq* cq) {
    struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC};
    init.cap = (struct ibv_qp_cap){.max_send_wr = kMessages, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1};
    struct ibv_qp* qp = ibv_create_qp(pd, &init);
    require(qp != NULL, "ibv_create_qp");
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    require(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
            "INIT");
    return qp;
}

static int connect_to(const char* address) {
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(kPort)};
    require(inet_pton(AF_INET, address, &there.sin_addr) == 1, address);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    require(fd >= 0 && connect(fd, (struct sockaddr*)&there, sizeof there) == 0, "connect");
    return fd;
}

static struct peer exchange(int fd, struct peer mine) {
    char text[kTextBytes];
    sprintf(text, kFormat, mine.lid, mine.qpn, mine.psn);
    for (int i = 0; i < 16; ++i) sprintf(text + kGidAt + 2 * i, "%02x", mine.gid.raw[i]);
    require(write(fd, text, sizeof text) == sizeof text, "write");
    require(recv(fd, text, sizeof text, MSG_WAITALL) == sizeof text, "recv");
    struct peer other;
    require(sscanf(text, kFormat, &other.lid, &other.qpn, &other.psn) == 3, text);
    for (int i = 0; i < 16; ++i) require(sscanf(text + kGidAt + 2 * i, "%2hhx", &other.gid.raw[i]) == 1, text);
    return other;
}

static void connect_queue_pair(struct ibv_qp* qp, int gid_index, struct peer mine, struct peer other) {
    struct ibv_qp_attr rtr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = other.qpn,
        .rq_psn = other.psn,
        .max_dest_rd_atomic = 1,
        .min_rnr_timer = 12,
        .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = other.gid, .hop_limit = 1}},
    };
    rtr.ah_attr.grh.sgid_index = (uint8_t)gid_index;
    rtr.ah_attr.dlid = (uint16_t)other.lid;
    require(ibv_modify_qp(qp, &rtr,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
            "RTR");
    struct ibv_qp_attr rts = {
        .qp_state = IBV_QPS_RTS,
        .timeout = 14,
        .retry_cnt = 7,
        .rnr_retry = kRnrRetries,
        .sq_psn = mine.psn,
        .max_rd_atomic = 1,
    };
    require(ibv_modify_qp(qp, &rts,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                              IBV_QP_MAX_QP_RD_ATOMIC) == 0,
            "RTS");
}

static int send_all(struct ibv_qp* qp, struct ibv_cq* cq, struct ibv_mr* mr) {
    struct ibv_sge sge = {.addr = (uintptr_t)mr->addr, .length = kBytes, .lkey = mr->lkey};
    for (uint64_t id = 0; id < kMessages; ++id) {
        struct ibv_send_wr request = {
            .wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
        struct ibv_send_wr* bad;
        require(ibv_post_send(qp, &request, &bad) == 0, "ibv_post_send");
    }
    for (int done = 0; done < kMessages;) {
        struct ibv_wc wc;
        const int count = ibv_poll_cq(cq, 1, &wc);
        require(count >= 0, "ibv_poll_cq");
        if (count == 1 && wc.status != IBV_WC_SUCCESS) {
            printf("Failed status %s (%d) for wr_id %d\n", ibv_wc_status_str(wc.status), wc.status, (int)wc.wr_id);
            return 1;
        }
        done += count;
    }
    return 0;
}

int main(int argc, char** argv) {
    static char buffer[kBytes];
    require(argc == 4, "burst_sender DEVICE GID_INDEX ADDRESS");
    const int gid_index = atoi(argv[2]);
    struct ibv_context* context = open_device(argv[1]);
    struct ibv_pd* pd = ibv_alloc_pd(context);
    require(pd != NULL, "ibv_alloc_pd");
    struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof buffer, 0);
    require(mr != NULL, "ibv_reg_mr");
    struct ibv_cq* cq = ibv_create_cq(context, 2 * kMessages, NULL, NULL, 0);
    require(cq != NULL, "ibv_create_cq");
    struct ibv_qp* qp = create_queue_pair(pd, cq);
    struct ibv_port_attr port;
    require(ibv_query_port(context, 1, &port) == 0, "ibv_query_port");
    struct peer mine = {.lid = port.lid, .qpn = qp->qp_num, .psn = 1};
    require(ibv_query_gid(context, 1, gid_index, &mine.gid) == 0, "ibv_query_gid");

    const int fd = connect_to(argv[3]);
    connect_queue_pair(qp, gid_index, mine, exchange(fd, mine));
    require(write(fd, "done", sizeof "done") == sizeof "done", "write");
    raise(SIGSTOP);
    return send_all(qp, cq, mr);
}
