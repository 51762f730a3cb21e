#include "owners/liveness.hpp"

#include "unit/attach/operations/scenes.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::attach;
using namespace rdmanet::attach::test;

TEST_CASE("a pod is dead only if that is proven") {
    using ipam::Liveness;
    constexpr kernel::ProcView kInitial{.pid_namespace = 0xEFFFFFFC, .began = 0};
    constexpr kernel::ProcView kContainer{.pid_namespace = 77, .began = 5};
    constexpr kernel::ProcView kOther{.pid_namespace = 77, .began = 6};
    constexpr kernel::ProcView kUnknown{};
    struct Row {
        const char* what;
        void (*happens)(Rig& rig, PodIdentity& pod);
        kernel::ProcView view; // of the caller; the record is from kContainer
        Liveness expected;
        const char* reason = ""; // a part of it
    };
    const auto nothing = [](Rig&, PodIdentity&) {};
    const auto end = [](Rig& rig, PodIdentity&) { rig.machine.end_netns(rig.pod); };
    const auto hide = [](Rig& rig, PodIdentity&) { rig.machine.hidden = {kPodPath}; };
    const Row rows[] = {
        {"no boot", [](Rig&, PodIdentity& pod) { pod.boot_id.clear(); }, kInitial, Liveness::unknown,
         "no readable record"},
        {"earlier boot", [](Rig&, PodIdentity& pod) { pod.boot_id = "earlier"; }, kUnknown, Liveness::dead},
        {"no namespace", [](Rig&, PodIdentity& pod) { pod.netns.inode = 0; }, kInitial, Liveness::unknown,
         "no record says"},
        {"at its path", nothing, kInitial, Liveness::alive},
        {"at its path, seen from elsewhere", nothing, kUnknown, Liveness::alive},
        {"a process has it", [](Rig&, PodIdentity& pod) { pod.netns.path = "/elsewhere"; }, kOther, Liveness::alive},
        {"the number is used again", [](Rig&, PodIdentity& pod) { ++pod.netns.cookie; }, kOther, Liveness::dead},
        {"the number is used again elsewhere",
         [](Rig&, PodIdentity& pod) { ++pod.netns.cookie, pod.netns.path = "/elsewhere"; }, kOther, Liveness::dead},
        {"it comes and goes", hide, kInitial, Liveness::unknown, "too quickly"},
        {"not found, all seen", end, kInitial, Liveness::dead},
        {"not found by the view that wrote it", end, kContainer, Liveness::dead},
        {"not found by another view", end, kOther, Liveness::unknown, "another PID namespace"},
        {"not found by an unknown view", end, kUnknown, Liveness::unknown, "unknown whose processes"},
        {"not found, written by an unknown view",
         [](Rig& rig, PodIdentity& pod) { rig.machine.end_netns(rig.pod), pod.pid_view = 0; }, kUnknown,
         Liveness::unknown, "unknown whose processes"},
        {"not found, written by another container",
         [](Rig& rig, PodIdentity& pod) { rig.machine.end_netns(rig.pod), pod.pid_view = 77; }, kContainer,
         Liveness::unknown, "another PID namespace"},
        {"not found, but not all was seen",
         [](Rig& rig, PodIdentity&) { rig.machine.end_netns(rig.pod), rig.machine.doubt = "process 5 hides"; },
         kInitial, Liveness::unknown, "process 5 hides"},
    };
    for (const Row& row : rows) {
        INFO(row.what);
        Rig rig(plain());
        Node node = rig.node();
        const kernel::Netns netns = kernel::get_netns(kPodPath);
        PodIdentity pod{.netns = {.path = kPodPath,
                                  .device = netns.id().device,
                                  .inode = netns.id().inode,
                                  .cookie = kernel::netns_cookie(netns)},
                        .pid_view = kContainer.id(),
                        .boot_id = node.boot_id};
        node.view = row.view;
        row.happens(rig, pod);
        const ipam::Verdict verdict = PodProbe(node).probe(pod);
        CHECK(verdict == row.expected);
        CHECK_THAT(verdict.reason, Catch::Contains(row.reason));
        CHECK(verdict.reason.empty() == (row.reason[0] == '\0'));
        ipam::Owner owner;
        owner.boot_id = pod.boot_id;
        owner.netns_path = pod.netns.path;
        owner.netns_inode = pod.netns.inode;
        owner.netns_cookie = pod.netns.cookie;
        owner.pid_view = pod.pid_view;
        const ipam::Verdict of_lease = PodProbe(node).probe(owner);
        CHECK(of_lease == row.expected);
        owner.other_node = "n2";
        CHECK(PodProbe(node).probe(owner) == Liveness::unknown);
    }
}
