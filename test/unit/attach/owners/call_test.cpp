#include "lookup/call.hpp"

#include "support/names.hpp"

#include <rdmanet/cni/error.hpp>

#include <catch2/catch.hpp>

#include <string>

using namespace rdmanet;
using rdmanet::test::Names;

TEST_CASE("names are refused exactly if the journal's file name, role included, would be too long") {
    for (const char* role : {"", "rdma", "another"}) {
        state::AttachmentKey key{.network = "net", .container_id = "", .ifname = "net1", .role = role};
        key.container_id.assign(state::kLongestFileName - key.file_name().size(), 'c');
        CHECK(key.file_name().size() == state::kLongestFileName);
        CHECK_NOTHROW(attach::require_storable(key, {}));
        key.container_id += 'c';
        CHECK_THROWS_AS(attach::require_storable(key, {}), cni::CniError);
    }
    const state::AttachmentKey key{
        .network = "net", .container_id = std::string(233, 'c'), .ifname = "net1", .role = "rdma"};
    CHECK_THROWS_WITH(attach::require_storable(key, {}), Names("CNI_CONTAINERID", "CNI_IFNAME", "240 bytes", "239"));
}
