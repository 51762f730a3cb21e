#include <rdmanet/base/host_file.hpp>

#include <rdmanet/base/error.hpp>

#include <catch2/catch.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace rdmanet::base {
namespace {

namespace fs = std::filesystem;

/// A directory that stands for the host's /.
class Host {
public:
    Host() {
        std::string name = (fs::temp_directory_path() / "host-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        root_ = name;
    }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    ~Host() { fs::remove_all(root_); }

    [[nodiscard]] const std::string& root() const { return root_; }

private:
    std::string root_;
};

} // namespace

TEST_CASE("a file of the host is below its root, wherever symbolic links lead") {
    const Host host;
    std::ofstream(host.root() + "/real") << "text";
    fs::create_symlink("/real", host.root() + "/absolute");
    fs::create_symlink("../../../real", host.root() + "/above");
    fs::create_symlink("/nowhere", host.root() + "/broken");
    for (const char* file : {"/real", "/absolute", "/above"})
        CHECK(read_host_file_if_exists(host.root(), file, 10) == "text");
    for (const char* file : {"/broken", "/absent", "/proc/self/comm"})
        CHECK_FALSE(read_host_file_if_exists(host.root(), file, 10));
    CHECK(read_host_file_if_exists("", host.root() + "/real", 10) == "text");
    CHECK_THROWS_AS(read_host_file_if_exists(host.root(), "/real", 3), SystemError);
    CHECK_THROWS_WITH(read_host_file_if_exists(host.root(), "/", 10), "/ is not a regular file");
}

} // namespace rdmanet::base
