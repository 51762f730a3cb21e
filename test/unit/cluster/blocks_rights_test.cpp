// Store "blocks" as a user that has just the rights of conf-examples/cluster-blocks.yaml, or all but one of them.
#include "blocks_fixture.hpp"
#include "role.hpp"

#include "blocks/objects.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

namespace {

/// A cluster of its own for each try.
class Try : public BlocksFixture {
public:
    /// A new range, blocks until it is full, an address that another node has, and giving back. What was refused.
    [[nodiscard]] std::string refusal(const std::string& user) {
        auto mine = node("a");
        mine->connect = [this, user] { return connect(user); };
        mine->requestable = {prefix("10.0.0.12/30")};
        auto other = node("b");
        other->requestable = mine->requestable;
        try {
            const std::string range = "10.0.0.8/29"; // 8 to 11 are blocks of one; of those 9 to 11 are given
            require(*mine, "c0", claim(range));
            for (const char* container : {"c1", "c2"}) require(*mine, container, claim(range));
            std::string wanted = other->reserve("d", {wanting(range, "10.0.0.13")});
            if (wanted != "10.0.0.13/29") return "the other node got " + wanted;
            if (auto why = refusal_of(*mine, "c3", claim(range)); !why.empty())
                return why; // full: others are looked at
            if (auto why = refusal_of(*mine, "c4", wanting(range, "10.0.0.13")); !why.empty()) return why;
            require(*mine, "c5", wanting(range, "10.0.0.14"));
            (void)mine->release("c5");
            mine->store->settle(kIdleBlock, soon());
            return {};
        } catch (const base::Error& error) {
            return error.what();
        }
    }
    /// A range of its own pool that is there, and empty.
    [[nodiscard]] std::string refusal_with_a_pool(const std::string& user) {
        create("/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/ippools",
               R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":")" + space +
                   R"(-10.0.0.8-29"},"spec":{"range":"10.0.0.8/29","allocations":{}}})");
        return refusal(user);
    }
    /// A range that overlaps is about to be confirmed: ours is withdrawn.
    [[nodiscard]] std::string refusal_to_withdraw(const std::string& user) {
        const RangeObject first{.space = space, .subnet = prefix("10.0.0.0/16"), .store = kInBlocks, .block_size = 16};
        create(kRangesPath, first.to_text());
        const std::string why = refusal(user);
        return why.find("overlaps") == std::string::npos ? why : std::string();
    }

private:
    static void require(TestNode& on, const std::string& container, const ipam::Claim& claim) {
        on.store = std::make_unique<BlocksStore>(on.file, on.options());
        const auto outcome = on.store->reserve(owner(container, "pod-" + container), {claim}, soon());
        if (const auto* none = std::get_if<ipam::Exhausted>(&outcome))
            throw base::Error(none->refusal ? none->refusal->what() : "exhausted");
    }
    /// Of an address that can't be had. Empty if the cluster could be asked.
    static std::string refusal_of(TestNode& on, const std::string& container, const ipam::Claim& claim) try {
        on.store = std::make_unique<BlocksStore>(on.file, on.options());
        const auto outcome = on.store->reserve(owner(container, "pod-" + container), {claim}, soon());
        const auto* none = std::get_if<ipam::Exhausted>(&outcome);
        return none != nullptr && none->refusal ? none->refusal->what() : "";
    } catch (const ipam::RequestedAddressTaken&) {
        return {};
    }
};

std::string refusal_of_everything(const std::string& user) {
    if (std::string why = Try().refusal(user); !why.empty()) return why;
    if (std::string why = Try().refusal_with_a_pool(user); !why.empty()) return why;
    return Try().refusal_to_withdraw(user);
}

} // namespace

TEST_CASE_METHOD(ClusterFixture, "store blocks works with the example's rights, and names each that is taken away") {
    if (!is_there()) return;
    CHECK(refusal_of_everything("rdmanet").empty());
    const auto admin = connect("admin");
    check_each_right(*admin, rights_of_example("cluster-blocks.yaml"), [] { return refusal_of_everything("limited"); });
}
