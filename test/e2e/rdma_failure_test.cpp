// What users' programs print when RDMA between two pods fails, and that `rdmanet doctor explain` knows these texts. The
// everyday run has VFs. The matrix has every kind of attachment.
#include "rdma_pods.hpp"

#include "support/concat.hpp"
#include "support/patience.hpp"
#include "support/plugin_call.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace rdmanet::test {

using Catch::Contains;

namespace {

struct Outputs {
    std::string server;
    std::string client;
};

/// Runs a server, and a client that must fail. The server is killed if that does not end it.
Outputs failing(const RdmaEnd& server_end, const std::string& server, const RdmaEnd& client_end,
                const std::string& client) {
    PodProgram listening(server_end.pod, server);
    wait_for_listener(listening, server_end);
    const ProcessResult said = run_in_pod(client_end.pod, concat(client, ' ', server_end.address));
    CHECK(said.exit_status != 0);
    listening.end();
    return {.server = listening.result().out, .client = said.out};
}

/// Output of a program that must fail by itself.
std::string failing(const RdmaEnd& end, const std::string& command) {
    const ProcessResult said = run_in_pod(end.pod, command);
    CHECK(said.exit_status != 0);
    return said.out;
}

/// What the doctor says to the line of the output that has this text.
std::string explained(const std::string& output, const std::string& text) {
    const std::size_t at = output.find(text);
    if (at == std::string::npos) return concat("the programs printed something else: ", output);
    const std::size_t begin = output.rfind('\n', at) + 1; // npos + 1 is 0
    const std::string line = output.substr(begin, output.find('\n', at) - begin);
    const ProcessResult said = run_process({binary(), "doctor", "explain", line});
    return said.exit_status == 0 ? said.out : concat("the doctor does not know: ", line);
}

std::string with_locked_memory(const std::string& kilobytes, const std::string& program) {
    return concat("setpriv --bounding-set=-ipc_lock bash -c 'ulimit -l ", kilobytes, "; exec ", program, '\'');
}

std::string without_device_files(const std::string& program) {
    return concat("unshare --mount bash -c 'mount -t tmpfs none /dev/infiniband; exec ", program, '\'');
}

/// The end with another entry of its GID table.
RdmaEnd with_gid(RdmaEnd end, const std::string& index) {
    end.gid = index;
    return end;
}

const std::string kPingpong = "ibv_rc_pingpong";
const std::string kWrite = "ib_write_bw -F";

void wrong_gid_index(const RdmaEnd& server, const RdmaEnd& client) {
    const auto with_index = [&](const std::string& program, const std::string& index) {
        return failing(server, on_end(program, server), client, on_end(program, with_gid(client, index)));
    };
    const std::string empty = "60";
    CHECK_THAT(explained(with_index(kPingpong, empty).server, "Failed to modify QP to RTR"), Contains("GID index"));
    CHECK_THAT(explained(with_index(kPingpong, empty).client, "Couldn't read/write remote address"),
               Contains("the other end"));
    CHECK_THAT(explained(failing(client, on_end(kPingpong, with_gid(client, "256"))), "can't read sgid of index 256"),
               Contains("GID index"));
    CHECK_THAT(explained(with_index(kWrite, empty).client, "Found Incompatibility issue with GID types"),
               Contains("GID index"));
    CHECK_THAT(explained(with_index(kWrite, "65").client, "Gid index should be between"), Contains("perftest"));
    // The entry before is of the same address with RoCE v1. The other end expects RoCE v2.
    const std::string of_v1 = std::to_string(std::stoi(client.gid) - 1);
    CHECK_THAT(explained(with_index(kPingpong, of_v1).client, "transport retry counter exceeded (12)"),
               Contains("packets do not arrive"));
}

void little_locked_memory(const RdmaEnd& server, const RdmaEnd& client) {
    CHECK_THAT(explained(failing(client, with_locked_memory("64", on_end(concat(kPingpong, " -s 1000000"), client))),
                         "Couldn't register MR"),
               Contains("IPC_LOCK") && Contains("pod-memlock"));
    const std::string alone = with_locked_memory("64", on_end(kWrite, client));
    PodProgram listening(server.pod, on_end(kWrite, server));
    wait_for_listener(listening, server); // the client connects before it registers memory
    CHECK_THAT(explained(failing(client, concat(alone.substr(0, alone.size() - 1), ' ', server.address, '\'')),
                         "Couldn't allocate MR"),
               Contains("IPC_LOCK") && Contains("pod-memlock"));
}

void no_device_files(const RdmaEnd& server, const RdmaEnd& client) {
    const auto without = [&](const std::string& program, const std::string& text) {
        return explained(failing(client, without_device_files(program)), text);
    };
    CHECK_THAT(without("ibv_devinfo", "No IB devices found"), Contains("pod-device-files"));
    CHECK_THAT(without(on_end(kPingpong, client), concat("IB device ", client.device, " not found")),
               Contains("pod-device-files"));
    CHECK_THAT(without(on_end(kWrite, client), "Unable to find the Infiniband/RoCE device"),
               Contains("pod-device-files"));
    CHECK_THAT(without(concat("rping -c -a ", server.address), "No RDMA devices were detected"),
               Contains("pod-device-files"));
}

/// What the client prints.
std::string with_mtus(const RdmaEnd& server, const std::string& servers, const RdmaEnd& client,
                      const std::string& clients) {
    const std::string with = concat(kPingpong, " -m ");
    return failing(server, on_end(concat(with, servers), server), client, on_end(concat(with, clients), client)).client;
}

void different_mtus(const RdmaEnd& server, const RdmaEnd& client) {
    CHECK_THAT(explained(with_mtus(server, "1024", client, "256"), "remote invalid request error (9)"),
               Contains("MTU"));
    CHECK_THAT(explained(with_mtus(server, "256", client, "1024"), "remote invalid request error (9)"),
               Contains("MTU"));
}

void ended_peer(const RdmaEnd& server, const RdmaEnd& client) {
    // In mode shared, only the host has the counters.
    const auto packets = [&](const RdmaEnd& end) {
        const std::string file = concat("/sys/class/infiniband/", end.device, "/ports/1/counters/port_xmit_packets");
        return shell(concat("cat ", file, " 2>/dev/null || ip netns exec ", end.pod, " cat ", file));
    };
    {
        const std::string many = concat(kPingpong, " -e -n 100000000");
        PodProgram dying(server.pod, on_end(many, server));
        wait_for_listener(dying, server);
        const std::string idle = packets(client);
        PodProgram left(client.pod, concat(on_end(many, client), ' ', server.address));
        CHECK(comes_true([&] { return std::stoul(packets(client)) > std::stoul(idle) + 1000; }));
        // A client whose last message was acknowledged waits for the answer forever. So the server dies after its
        // answer to a client that is stopped.
        left.send("STOP");
        left.wait_for_state('T');
        CHECK(comes_true([&] {
            dying.wait_for_state('S');
            const std::string sent = concat(packets(server), packets(client));
            dying.wait_for_state('S');
            return sent == concat(packets(server), packets(client));
        }));
        dying.end();
        left.send("CONT");
        CHECK_THAT(explained(left.result().out, "transport retry counter exceeded (12)"),
                   Contains("the peer has ended"));
    }
    const std::string endless = concat(kWrite, " -D 100000");
    PodProgram dying(server.pod, on_end(endless, server));
    wait_for_listener(dying, server);
    const std::string idle = packets(client);
    PodProgram left(client.pod, concat(on_end(endless, client), ' ', server.address));
    CHECK(comes_true([&] { return std::stoul(packets(client)) > std::stoul(idle) + 1000; }));
    dying.end();
    CHECK_THAT(explained(left.result().out, "Failed status 12:"), Contains("the peer has ended"));
}

void all_failures(Carrier carrier) {
    between_pods(carrier, [&](const RdmaEnd& server, const RdmaEnd& client) {
        if (!is_infiniband(carrier)) wrong_gid_index(server, client); // the GID index counts between subnets only
        little_locked_memory(server, client);
        no_device_files(server, client);
        different_mtus(server, client);
        if (carrier == Carrier::vf) // its interfaces have MTU 1500
            CHECK_THAT(explained(with_mtus(server, "4096", client, "4096"), "transport retry counter exceeded (12)"),
                       Contains("mtu"));
        ended_peer(server, client);
    });
}

} // namespace

TEST_CASE("RDMA between pods that fails, as programs report it", "[traffic][doctor][sriov]") {
    all_failures(Carrier::vf);
}

TEST_CASE("RDMA that fails, as programs on other kinds of attachments report it", "[.matrix]") {
    all_failures(
        GENERATE(Carrier::macvlan, Carrier::ipvlan, Carrier::subfunction, Carrier::ipoib, Carrier::infiniband_vf));
}

} // namespace rdmanet::test
