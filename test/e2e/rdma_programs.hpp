// Programs of users that exchange data over RDMA: a server in one pod, a client in another.
#pragma once

#include "background_program.hpp"

#include "support/node.hpp"

#include <string>

namespace rdmanet::test {

/// An attached pod as programs need to know it: what `rdmanet inventory` shows for its interface net1.
struct RdmaEnd {
    explicit RdmaEnd(const Pod& attached);

    std::string pod;
    std::string address;
    std::string device; // "roce0p0"
    std::string gid;    // its index: of the address with RoCE v2, or of the InfiniBand port
    std::string gid_text;
};

/// The programs listen for clients with TCP, or through RDMA's connection manager.
enum class Listens { tcp, cm };

/// Throws with the server's output if the server ends instead.
void wait_for_listener(PodProgram& server, const RdmaEnd& end, Listens by = Listens::tcp);

/// "ibv_rc_pingpong -d DEVICE -g GID", "ib_write_bw -d DEVICE -x GID". The program may have options already.
[[nodiscard]] std::string on_end(const std::string& program, const RdmaEnd& end);

/// Runs a server and then a client. Empty if both succeed and say that they used the ends' GIDs, otherwise their
/// outputs.
[[nodiscard]] std::string exchange(const RdmaEnd& server, const RdmaEnd& client, const std::string& program);
[[nodiscard]] std::string rping(const RdmaEnd& server, const RdmaEnd& client);

} // namespace rdmanet::test
