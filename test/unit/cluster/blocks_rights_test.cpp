// Blocks as a user that has just the rights of conf-examples/cluster-blocks.yaml, or all but one of them.
#include "blocks_fixture.hpp"
#include "role.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

namespace {

/// A cluster of its own for each try.
class Try : public BlocksFixture {
public:
    /// A block is taken although pools overlap it, confirmed, and given back; and all are taken. What was refused.
    [[nodiscard]] std::string refusal(const std::string& user) {
        const std::string range = "10.0.0.0/28";
        declare(range);
        make_pool(range, R"({"1":{"id":"old","podref":"a/b"}})");
        auto a = node("a");
        a->connect = [this, user] { return connect(user); };
        for (int number = 0; number < 13; ++number) { // without .0 to .3, which the pool holds, and .15
            const std::string said = a->reserve("c" + std::to_string(number), {claim(range)});
            if (!said.ends_with("/28") && !said.starts_with("exhausted; ")) return said;
        }
        for (int number = 0; number < 13; ++number) (void)a->release("c" + std::to_string(number));
        if (std::string said = a->confirm(); !said.empty()) return said;
        return a->settle(0s);
    }
};

} // namespace

TEST_CASE_METHOD(ClusterFixture, "blocks work with the example's rights, and name each that is taken away") {
    CHECK(Try().refusal("rdmanet").empty());
    const auto admin = connect("admin");
    check_each_right(*admin, rights_of_example("cluster-blocks.yaml"), [] { return Try().refusal("limited"); });
}
