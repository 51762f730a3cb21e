// `rdmanet doctor`: buffers of ports, set with `dcb`, and counters that grow while it runs.
#include "doctor_provocation.hpp"

#include "support/concat.hpp"
#include "support/node.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {
namespace {

/// A port with PFC for priority 3, whose NIC has chosen the buffers.
struct LosslessPort {
    std::string name = rdma_parent(1);

    LosslessPort() { shell(concat("ip link set ", name, " up; dcb pfc set dev ", name, " prio-pfc all:off 3:on")); }
    LosslessPort(const LosslessPort&) = delete;
    LosslessPort& operator=(const LosslessPort&) = delete;
    ~LosslessPort() { (void)shell(concat("dcb pfc set dev ", name, " prio-pfc all:off")); }

    [[nodiscard]] std::string with(const std::string& file, const std::string& value) const {
        return concat("echo ", value, " >", debugfs(name), '/', file);
    }
};

} // namespace

TEST_CASE("the doctor finds priorities with PFC whose buffers have no room", "[doctor][rdma]") {
    NEEDS(!rdma_parent(1).empty(), "a second RDMA parent");
    const LosslessPort port;
    const std::string set = concat("dcb buffer set dev ", port.name, ' ');
    const std::string good = concat("dcb pfc set dev ", port.name, " prio-pfc 3:on");
    std::set<std::string> tried;
    try_all({{"buffers",
              "`dcb buffer set dev rnic1p0 prio-buffer all:0`",
              concat(set, "prio-buffer all:0"),
              good,
              {"info", port.name, concat("`", set, "prio-buffer 3:1 buffer-size 1:BYTES`")}},
             {"buffers",
              "`dcb buffer set dev rnic1p0 buffer-size 1:0`",
              concat(set, "buffer-size 1:0"),
              good,
              {"info", port.name, "buffer 1", concat("`dcb buffer show dev ", port.name, "`")}}},
            "", tried);
    shell(concat(set, "prio-buffer all:0; dcb pfc set dev ", port.name, " prio-pfc 3:off"));
    CHECK(found_by("buffers", "") == ""); // nothing is lossless
}

TEST_CASE("the doctor sees that a port is paused, or loses packets", "[doctor][rdma]") {
    NEEDS(!rdma_parent(1).empty(), "a second RDMA parent");
    const LosslessPort port;
    std::set<std::string> tried;
    try_all({{"storm",
              "the peer pauses the port",
              port.with("paused_percent", "40"),
              port.with("paused_percent", "0"),
              {"warning", port.name, "on the switch"}},
             {"storm",
              "the port pauses its peer",
              port.with("pausing_percent", "40"),
              port.with("pausing_percent", "0"),
              {"warning", port.name, "pcie-link"}},
             {"storm",
              "the NIC sees that the port pauses its peer without end",
              port.with("storms_per_second", "1000"),
              port.with("storms_per_second", "0"),
              {"warning", port.name, "programs that hang"}},
             {"storm",
              "packets are lost",
              port.with("discards_per_second", "1000"),
              port.with("discards_per_second", "0"),
              {"warning", port.name, "PFC"}}},
            "", tried);
    shell(port.with("paused_percent", "100"));
    CHECK(comes_true([] { // whatever the guest's speed is
        return succeeds(concat("echo '", found_by("storm", ""), "' | grep -Eq 'for (9[0-9]|100) %'"));
    }));
    shell(port.with("paused_percent", "2"));
    CHECK(found_by("storm", "") == ""); // PFC at work
    shell(port.with("paused_percent", "0"));
}

} // namespace rdmanet::test
