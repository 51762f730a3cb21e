#include "link_parse.hpp"
#include "message.hpp"
#include "rdma_parse.hpp"
#include "route_parse.hpp"

#include <catch2/catch.hpp>
