#include "rdma_programs.hpp"

#include "support/concat.hpp"
#include "support/patience.hpp"
#include "support/plugin_call.hpp"

#include <rdmanet/base/error.hpp>

namespace rdmanet::test {
namespace {

/// Empty if the program succeeded.
std::string trouble_of(const std::string& who, const ProcessResult& result) {
    if (result.exit_status == 0) return {};
    return concat(who, " ended with ", result.exit_status, result.timed_out ? " (too late)" : "", ": ", result.out);
}

/// The examples of libibverbs do, as inet_ntop() writes them.
bool prints_gids(const std::string& program) {
    return program.starts_with("ibv_");
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

} // namespace

RdmaEnd::RdmaEnd(const Pod& attached) : pod(attached.name()) {
    const auto ask = [&](const std::string& expression) {
        const std::string line = first_line(shell(
            concat(binary(), " inventory -o json | jq -r '. as $all | .interfaces[] | select(.name == \"net1\" and ",
                   "$all.namespaces[.namespace].mountPoint == \"", attached.path(), "\") | ", expression, '\'')));
        if (line.empty()) throw base::Error(concat("the inventory has no ", expression, " for pod ", pod));
        return line;
    };
    address = ask("[.addresses[] | select(contains(\".\"))][0] | split(\"/\")[0]");
    device = ask(".rdmaDevice");
    const std::string own = concat(
        ".gids[] | select(.type == \"InfiniBand\" or (.type == \"RoCE v2\" and .address == \"", address, "\")) | ");
    gid = ask(concat(own, ".index"));
    gid_text = ask(concat(own, "if .type == \"InfiniBand\" then .address else \"::ffff:\" + .address end"));
}

void wait_for_listener(PodProgram& server, const RdmaEnd& end, Listens by) {
    const std::string listens = by == Listens::tcp ? concat("ip netns exec ", end.pod, " ss -Hltn | grep -q .")
                                                   : concat("{ rdma resource show cm_id; ip netns exec ", end.pod,
                                                            " rdma resource show cm_id; } | grep -q 'state LISTEN'");
    const bool has_come = comes_true([&] { return server.has_ended() || succeeds(listens); });
    if (server.has_ended()) throw base::Error(concat("the server ended: ", server.result().out));
    if (!has_come) throw base::Error("the server does not listen");
}

std::string on_end(const std::string& program, const RdmaEnd& end) {
    return concat(program, " -d ", end.device, program.starts_with("ibv_") ? " -g " : " -x ", end.gid);
}

std::string exchange(const RdmaEnd& server, const RdmaEnd& client, const std::string& program) {
    PodProgram listening(server.pod, on_end(program, server));
    wait_for_listener(listening, server);
    const ProcessResult said = run_in_pod(client.pod, concat(on_end(program, client), ' ', server.address));
    if (said.exit_status != 0) listening.end();
    const ProcessResult answered = listening.result();
    std::string trouble = concat(trouble_of("the client", said), trouble_of("the server", answered));
    if (trouble.empty() && prints_gids(program) &&
        (said.out.find(client.gid_text) == std::string::npos ||
         answered.out.find(server.gid_text) == std::string::npos))
        trouble = concat("the programs used other GIDs: ", said.out, answered.out);
    return trouble;
}

std::string rping(const RdmaEnd& server, const RdmaEnd& client) {
    PodProgram listening(server.pod, concat("rping -s -v -C 3 -a ", server.address));
    wait_for_listener(listening, server, Listens::cm);
    const ProcessResult said = run_in_pod(client.pod, concat("rping -c -v -C 3 -a ", server.address));
    if (said.exit_status != 0) listening.end();
    return concat(trouble_of("the client", said), trouble_of("the server", listening.result()),
                  said.out.find("rdma-ping-2") == std::string::npos ? "the data did not come back" : "");
}

} // namespace rdmanet::test
