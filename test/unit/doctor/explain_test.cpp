// Messages as programs, Kubernetes and Multus print them, and which cause the doctor names.
#include "support/has.hpp"

#include <rdmanet/doctor/doctor.hpp>

#include <catch2/catch.hpp>

#include <initializer_list>
#include <string>
#include <utility>

namespace rdmanet::doctor {

using test::Has;

namespace {

using test::Has;

/// The causes, a line each.
std::string causes_of(const std::string& text) {
    std::string causes;
    for (const Explanation& each : explain(text)) causes += std::string(each.cause) + "\n";
    return causes;
}

TEST_CASE("the reason of a queue pair that cannot be changed to RTR decides on its cause") {
    for (const char* text :
         {"Failed to modify QP to RTR: Connection timed out", "change the queue pair to RTR: connection timed out",
          "NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out",
          "NCCL WARN Call to ibv_modify_qp failed with error Connection timed out errno 110"}) {
        INFO(text);
        CHECK(explain(text).size() == 1);
        CHECK_THAT(causes_of(text), Has("VLAN", "route", "peer is not there"));
        CHECK_THAT(causes_of(text), !Has("GID index"));
    }
    for (const char* text : {"Failed to modify QP 7 to RTR: Invalid argument",
                             "Call to ibv_modify_qp failed with error Invalid argument errno 22"}) {
        INFO(text);
        CHECK(explain(text).size() == 1);
        CHECK_THAT(causes_of(text), Has("GID index", "MTU") && !Has("VLAN"));
    }
    CHECK_THAT(causes_of("Failed to modify QP to RTR"), Has("GID index", "VLAN"));
}

TEST_CASE("a lack of memory is explained with all fixes") {
    for (const char* text : {"Couldn't allocate MR", "ibv_reg_mr(): Cannot allocate memory", "Cannot allocate memory",
                             "Call to ibv_create_cq failed with error Cannot allocate memory errno 12",
                             "register memory: ENOMEM", "check that RLIMIT_MEMLOCK is large enough"}) {
        INFO(text);
        CHECK(explain(text).size() == 1);
        CHECK_THAT(causes_of(text), Has("IPC_LOCK", "run it as root", "LimitMEMLOCK"));
    }
}

TEST_CASE("what NCCL, UCX, libibverbs, Kubernetes, networks and switches say is explained") {
    for (const auto& [text, cause] : std::initializer_list<std::pair<const char*, const char*>>{
             {"NCCL INFO NET/IB : No device found.", "memory limit"},
             {"NET/IB : Got completion from peer 10.0.0.2<45678> with status=12 opcode=0 len=0 vendor err 129",
              "packets do not arrive"},
             {"NCCL WARN Call to ibv_reg_mr failed", "IPC_LOCK"},
             {"Failed status RNR retry counter exceeded (13) for wr_id 1", "buffers"}, // ibv_wc_status_str()
             {" Failed status 13: wr_id 0 syndrom 0x0", "buffers"},
             {"libibverbs: Warning: couldn't load driver 'libmlx5-rdmav34.so': cannot open shared object file",
              "ibverbs-providers"},
             {"UCX  WARN  network device 'mlx5_0:1' is not available, please use one or more of: 'eth0'(tcp)",
              "UCX_NET_DEVICES"},
             {"dial unix /run/multus/multus.sock: connect: no such file or directory", "daemon does not run"},
             {"CNI request failed with status 400: 'something'", "explain the part behind it"},
             {"cannot find a network-attachment-definition (roce) in namespace (shop)",
              "get network-attachment-definitions"},
             {"0/3 nodes are available: 3 Insufficient example.com/roce.", "device plugin"},
             {"0/3 nodes are available: 3 Insufficient example.com/roce.", "Allocatable"},
             {"iptables -A INPUT -p udp --dport 4791 -j DROP", "do not see them"},
             {"RTNETLINK answers: Device or resource busy", "children of the other kind"},
             {"%PORT_SECURITY-2-PSECURE_VIOLATION: Security violation occurred", "ipvlan"}}) {
        INFO(text);
        CHECK_THAT(causes_of(text), Has(cause));
    }
}

TEST_CASE("the event of a pod that does not start is explained by its end, if that is known") {
    const std::string begin = "Warning FailedCreatePodSandBox 5s kubelet Failed to create pod sandbox: ";
    CHECK_THAT(causes_of(begin + "something new"), Has("the rest of the event says why"));
    CHECK_THAT(causes_of(begin + "failed to find plugin \"rdmanet\" in path [/opt/cni/bin]"),
               Has("put it in one of them") && !Has("the rest of the event"));
    CHECK_THAT(causes_of(begin + "plugin type=\"rdmanet\" failed (add): parent \"eth7\" is down"),
               Has("docs/troubleshooting.md", "Messages of ADD"));
}

TEST_CASE("each line of an output is explained by itself, and each cause is said once") {
    CHECK(explain("ibv_reg_mr(): no reason\nfork: Invalid argument\n").empty());
    CHECK(explain("first: Cannot allocate memory\nsecond: Couldn't register MR\n").size() == 1);
    CHECK(explain("Cannot allocate memory\n\nFailed to modify QP to RTR: Connection timed out").size() == 2);
    CHECK(explain("\n\n").empty());
    CHECK(explain("process 4791 exited").empty());
}

} // namespace
} // namespace rdmanet::doctor
