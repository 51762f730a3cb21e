// Programs of users that exchange data over RDMA: a server in one pod, a client in another.
#pragma once

#include "support/node.hpp"
#include "support/process.hpp"

#include <future>
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

/// A program in a pod. It is killed if it still runs at the end.
class PodProgram {
public:
    /// `command` is a shell command that becomes the program.
    PodProgram(const std::string& pod, const std::string& command);
    PodProgram(const PodProgram&) = delete;
    PodProgram& operator=(const PodProgram&) = delete;
    ~PodProgram();

    [[nodiscard]] bool has_ended() const;
    /// Waits for the program's end. Both outputs are in `out`.
    [[nodiscard]] ProcessResult result();
    void send(const std::string& signal) const;
    /// Kills it if it still runs, and waits for its end.
    void end() const;
    /// 'S': it sleeps, 'T': it is stopped (proc(5)).
    void wait_for_state(char state) const;

private:
    std::string pid_file_;
    std::future<ProcessResult> running_;
};

/// The programs listen for clients with TCP, or through RDMA's connection manager.
enum class Listens { tcp, cm };

/// Throws with the server's output if the server ends instead.
void wait_for_listener(PodProgram& server, const RdmaEnd& end, Listens by = Listens::tcp);

/// "ibv_rc_pingpong -d DEVICE -g GID", "ib_write_bw -d DEVICE -x GID". The program may have options already.
[[nodiscard]] std::string on_end(const std::string& program, const RdmaEnd& end);

/// Runs a program to its end, with both outputs in `out`.
[[nodiscard]] ProcessResult run_in_pod(const std::string& pod, const std::string& command);

/// Runs a server and then a client. Empty if both succeed and say that they used the ends' GIDs, otherwise their
/// outputs.
[[nodiscard]] std::string exchange(const RdmaEnd& server, const RdmaEnd& client, const std::string& program);
[[nodiscard]] std::string rping(const RdmaEnd& server, const RdmaEnd& client);

} // namespace rdmanet::test
