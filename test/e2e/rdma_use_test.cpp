// Programs and kernel modules have RDMA devices open that should move.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/kernel_user.hpp"
#include "support/names.hpp"
#include "support/netns_visit.hpp"
#include "support/reporter.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// A command of the write interface (rdma/ib_user_verbs.h), and its response.
template <class Body, class Response>
struct Command {
    Command(ib_uverbs_write_cmds number, Response& response)
        : header{.command = static_cast<__u32>(number),
                 .in_words = sizeof(Command) / 4,
                 .out_words = sizeof response / 4} {
        body.response = reinterpret_cast<std::uintptr_t>(&response);
    }

    ib_uverbs_cmd_hdr header;
    Body body{};
};

/// A program that uses an RDMA device. It has a context open, which the first command of every such program requests.
class RdmaUser {
public:
    explicit RdmaUser(const std::string& device) {
        const std::string name = shell(concat("basename $(dirname $(grep -lx ", device,
                                              " /sys/class/infiniband_verbs/uverbs*/ibdev)) | tr -d '\\n'"));
        fd_ = base::UniqueFd(::open(concat("/dev/infiniband/", name).c_str(), O_RDWR | O_CLOEXEC));
        ib_uverbs_get_context_resp response{};
        const Command<ib_uverbs_get_context, ib_uverbs_get_context_resp> request(IB_USER_VERBS_CMD_GET_CONTEXT,
                                                                                 response);
        if (!fd_ || ::write(fd_.get(), &request, sizeof request) != sizeof request)
            throw base::SystemError(concat("open a context of ", device), errno);
        events_ = base::UniqueFd(static_cast<int>(response.async_fd));
    }

    /// 0, or the error of its next command.
    [[nodiscard]] int next_error() const {
        ib_uverbs_query_device_resp response{};
        const Command<ib_uverbs_query_device, ib_uverbs_query_device_resp> query(IB_USER_VERBS_CMD_QUERY_DEVICE,
                                                                                 response);
        return ::write(fd_.get(), &query, sizeof query) < 0 ? errno : 0;
    }

private:
    base::UniqueFd fd_;
    base::UniqueFd events_;
};

} // namespace

TEST_CASE("an RDMA device that a program or a kernel module uses is refused by its name, but DEL takes it back",
          "[sriov][rdma][del][rdma-use]") {
    const VfStage stage;
    const PluginCall call = vf_call(stage.vfs, stage.pod, 0, "'rdma':true,'vlan':100");
    {
        const RdmaUser user(stage.vfs.rdma(0));
        CHECK_THAT(refusal(call),
                   Names("code 103", "RDMA", stage.vfs.rdma(0), "in use", std::to_string(::getpid()), "e2e_test"));
        CHECK(stage.node.difference() == "");
    }
    {
        const KernelUser user(concat("device=", stage.vfs.rdma(0), " queue_pairs=3"));
        CHECK_THAT(refusal(call),
                   Names("code 103", "RDMA", stage.vfs.rdma(0), "in use", "simrnic_user", "3 queue pairs"));
        CHECK_THAT(shell("rdma resource show qp"), Contains("[simrnic_user]"));
        CHECK(stage.node.difference() == "");
    }
    (void)add(call);
    {
        const auto user = [&] {
            const NetnsVisit visit(stage.pod.path());
            return std::make_unique<RdmaUser>(stage.vfs.rdma(0));
        }();
        CHECK(del(call) == "");
        CHECK(stage.node.difference() == "");
        CHECK(user->next_error() == EIO);
    }
    (void)add(call);
    const KernelUser user(concat("device=", stage.vfs.rdma(0)));
    CHECK_THAT(stage.pod.run("rdma resource show qp"), Contains("[simrnic_user]"));
    CHECK(del(call) == "");
    CHECK_THAT(shell("rdma resource show qp"), Contains("[simrnic]") && !Contains("[simrnic_user]"));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("an InfiniBand VF is refused while a kernel module has a connection on it", "[infiniband][rdma][rdma-use]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband("exclusive");
    infiniband.make_vfs(2);
    const Pod pod("pod");
    // The kernel names the owner of a connection through RDMA CM by another way.
    const std::string netdev = InfinibandNode::netdev(InfinibandNode::vf(0));
    ip_batch(concat("link set ", netdev, " up\naddress add 10.9.0.1/24 dev ", netdev));
    wait_until_up(netdev);
    const KernelUser user("address=10.9.0.1");
    const CheckedNode node;
    const PluginCall used = call_for(pod, concat("'rdma':true,'deviceID':'", InfinibandNode::vf(0), '\''));
    CHECK_THAT(refusal(used), Names("code 103", "RDMA", "ib0p0v0", "in use", "simrnic_user", "1 queue pair"));
}

} // namespace rdmanet::test
