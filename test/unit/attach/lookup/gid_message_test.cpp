// What is said where a GID table is full.
#include "lookup/shared_rdma.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/cni/error.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace rdmanet::attach {
namespace {

/// A tree like /sys/class/infiniband, whose only port has one entry, for 10.0.0.1, and no place for another.
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

TEST_CASE("who has a full GID table is looked for only where it ends the ADD, and the error needs no answer") {
    const FullTable table;
    const std::string before =
        "no GID of 10.0.0.2 on port 1 of RDMA device \"rnic0\" after 0 ms (1 of 1 entries used): ";
    const std::string cure = "remove pods or addresses, spread the pods over more parents, or limit what one pod takes "
                             "with \"rdma.maxGids\"";
    const GidHolders unreadable = []() -> std::string { throw base::Error("records can't be read"); };
    CHECK(refusal(table, [] { return std::string("pod \"p1\" (1)"); }) ==
          before + "most belong to pod \"p1\" (1); " + cure);
    CHECK(refusal(table, unreadable) == before + cure);
    bool is_asked = false;
    table.wait_for_another(config::OnMissingGid::warn, [&] {
        is_asked = true;
        return std::string();
    });
    CHECK(!is_asked);
}

} // namespace rdmanet::attach
