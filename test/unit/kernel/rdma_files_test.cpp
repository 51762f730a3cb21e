#include <rdmanet/kernel/rdma_files.hpp>

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

namespace rdmanet::kernel {
namespace {

/// A tree like /sys/class.
struct FakeClasses {
    FakeClasses() {
        char name[] = "/tmp/rdmanet-classes-XXXXXX";
        root = ::mkdtemp(name);
    }
    ~FakeClasses() { std::filesystem::remove_all(root); }

    void add(const std::string& file, const std::string& attribute, const std::string& text) const {
        std::filesystem::create_directories(root / file);
        std::ofstream(root / file / attribute) << text << '\n';
    }

    std::filesystem::path root;
};

TEST_CASE("character devices are listed with their RDMA device and port") {
    const FakeClasses classes;
    classes.add("infiniband_verbs/uverbs1", "ibdev", "mlx5_1");
    classes.add("infiniband_verbs", "abi_version", "6");
    for (const char* file : {"infiniband_mad/issm3", "infiniband_mad/umad3"}) {
        classes.add(file, "ibdev", "mlx5_1");
        classes.add(file, "port", "2");
    }
    classes.add("misc/rdma_cm", "dev", "10:124");
    const auto files = list_rdma_files(classes.root);
    REQUIRE(files.size() == 4);
    CHECK((files[0].name == "uverbs1" && files[0].device == "mlx5_1" && files[0].port == 0));
    CHECK((files[1].name == "umad3" && files[1].device == "mlx5_1" && files[1].port == 2));
    CHECK((files[2].name == "issm3" && files[2].port == 2));
    CHECK((files[3].name == "rdma_cm" && files[3].device.empty()));
}

TEST_CASE("a vanishing device, and a machine without RDMA, have no character devices") {
    const FakeClasses classes;
    CHECK(list_rdma_files(classes.root).empty());
    std::filesystem::create_directories(classes.root / "infiniband_verbs/uverbs0");
    CHECK(list_rdma_files(classes.root).empty());
}

} // namespace
} // namespace rdmanet::kernel
