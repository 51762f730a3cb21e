#include "port_name.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::kernel {

TEST_CASE("a port of the card is told apart from the other ports of its switch") {
    for (const char* name : {"p0", "p1", "p12"}) CHECK(is_of_port(name));
    for (const char* name : {"", "p", "0", "p0s1", "pf0", "pf0vf0", "c1pf0vf0", "p 1"}) CHECK_FALSE(is_of_port(name));
}

TEST_CASE("a representor names its VF") {
    CHECK(vf_of("pf0vf3") == 3U);
    CHECK(vf_of("pf1vf12") == 12U);
    for (const char* name : {"", "p3", "pf3", "pf0vf", "pfvf3", "pf0sf3", "c1pf0vf3", "pf0vf3n1", "pf0vf99999999999"})
        CHECK_FALSE(vf_of(name));
}

} // namespace rdmanet::kernel
