// The message about a full GID table.
#include "lookup/shared_rdma.hpp"

#include "support/names.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/cni/error.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace rdmanet::attach {
namespace {

/// A tree like /sys/class/infiniband. Its only port has one entry, for 10.0.0.1, and no room for another.
class FullTable {
public:
    FullTable() {
        char name[] = "/tmp/rdmanet-sysfs-XXXXXX";
        root_ = ::mkdtemp(name);
        write("gids", "0000:0000:0000:0000:0000:ffff:0a00:0001");
        write("gid_attrs/types", "RoCE v2");
        write("gid_attrs/ndevs", "net1");
    }
    ~FullTable() { std::filesystem::remove_all(root_); }
    FullTable(const FullTable&) = delete;
    FullTable& operator=(const FullTable&) = delete;

    void wait_for_another(config::OnMissingGid on_missing_gid, const GidHolders& holders) const {
        config::RdmaPolicy policy;
        policy.gid_timeout = std::chrono::milliseconds{0};
        policy.on_missing_gid = on_missing_gid;
        kernel::RdmaPort port;
        port.device = "rnic0";
        port.port = 1;
        const base::Logger log(base::LogLevel::error);
        wait_for_gids(policy, port, "net1", {*base::IpAddress::parse("10.0.0.2")}, log, holders, root_);
    }

private:
    void write(const std::string& directory, const std::string& text) const {
        const auto place = root_ / "rnic0/ports/1" / directory;
        std::filesystem::create_directories(place);
        std::ofstream(place / "0") << text << '\n';
    }

    std::filesystem::path root_;
};

std::string refusal(const FullTable& table, const GidHolders& holders) {
    try {
        table.wait_for_another(config::OnMissingGid::refuse, holders);
    } catch (const cni::CniError& error) {
        return error.what();
    }
    return "no error";
}

} // namespace

TEST_CASE("a full GID table's holders are only looked up if they end the ADD, and the error works without them") {
    const FullTable table;
    const test::Names names_table("10.0.0.2", "port 1", "rnic0", "0 ms", "1 of 1", "rdma.maxGids");
    const GidHolders unreadable = []() -> std::string { throw base::Error("records can't be read"); };
    CHECK_THAT(refusal(table, [] { return std::string("pod \"p1\" (1)"); }),
               names_table && test::Names("pod \"p1\" (1)"));
    CHECK_THAT(refusal(table, unreadable), names_table && !Catch::Contains("pod \"") && !Catch::Contains("records"));
    bool is_asked = false;
    table.wait_for_another(config::OnMissingGid::warn, [&] {
        is_asked = true;
        return std::string();
    });
    CHECK(!is_asked);
}

} // namespace rdmanet::attach
