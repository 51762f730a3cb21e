#include "support/directory.hpp"

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <utility>

using namespace rdmanet::base;
using rdmanet::test::Directory;

namespace {

unsigned syncs = 0;

unsigned mode_of(const std::string& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 0777U;
}

} // namespace

/// In place of the C library's.
extern "C" int fsync(int fd) {
    ++syncs;
    return ::fdatasync(fd);
}

TEST_CASE("a file and its directory are synced, unless they are in memory") {
    for (const auto& [in, expected] : {std::pair("/var/tmp", 2U), {"/dev/shm", 0U}}) {
        INFO(in);
        const Directory directory(in);
        const auto syncs_of = [&](const auto& act) {
            syncs = 0;
            act();
            return syncs;
        };
        CHECK(syncs_of([&] { write_file_durably(directory.file("one"), "1"); }) == expected);
        CHECK(syncs_of([&] { create_file_durably(directory.file("two"), "2"); }) == expected);
        CHECK(syncs_of([&] { (void)remove_file_durably(directory.file("one")); }) == expected / 2);
    }
}

TEST_CASE("a durable write creates or replaces a private file, whatever a killed writer left, without leftovers") {
    const Directory directory;
    const std::string path = directory.file("record");
    write_file_durably(path + ".tmp", "half of a rec");
    for (const char* content : {"one", "two, longer", "3"}) write_file_durably(path, content);
    CHECK(read_file(path, 100) == "3");
    CHECK(mode_of(path) == 0600U);
    CHECK(::access((path + ".tmp").c_str(), F_OK) != 0);
}

TEST_CASE("a durable write does not follow a symbolic link") {
    const Directory directory;
    const std::string victim = directory.write("victim", "untouched");
    directory.link("record.tmp", victim);
    CHECK_THROWS_AS(write_file_durably(directory.file("record"), "x"), SystemError);
    CHECK(read_file(victim, 100) == "untouched");
}

TEST_CASE("a removal reports whether the file existed, and like a write throws if something else stays") {
    const Directory directory;
    const std::string path = directory.write("record", "x");
    CHECK(remove_file_durably(path) == Removed::yes);
    CHECK(remove_file_durably(path) == Removed::was_absent);
    directory.make("record"); // neither unlink() nor rename() works on it
    CHECK_THROWS_AS(remove_file_durably(path), SystemError);
    CHECK_THROWS_AS(write_file_durably(path, "x"), SystemError);
    CHECK(::access((path + ".tmp").c_str(), F_OK) != 0);
}

TEST_CASE("reads have a size limit, and errors name the file") {
    const Directory directory;
    const std::string path = directory.write("f", "0123456789");
    CHECK(read_file(path, 10).size() == 10);
    CHECK_THROWS_WITH(read_file(path, 9), Catch::Contains(path) && Catch::Contains(errno_text(EFBIG)));
}

TEST_CASE("a regular file is read whole, by its path or from its open directory") {
    const Directory directory;
    const UniqueFd open(::open(directory.file("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{16384}, std::size_t{40000}}) {
        const std::string path = directory.file(std::to_string(size));
        write_file_durably(path, std::string(size, 'x'));
        CHECK(read_regular_file_if_exists(path, 100'000) == std::string(size, 'x'));
        CHECK(read_regular_file_if_exists(path, 100'000, open.get()) == std::string(size, 'x'));
    }
    CHECK(read_regular_file_if_exists(directory.file("absent"), 9, open.get()) == std::nullopt);
    CHECK_THROWS_AS(read_regular_file_if_exists(directory.file("40000"), 39'999), SystemError);
}

TEST_CASE("a directory has its hidden entries, and an absent one has none") {
    const Directory directory;
    directory.write("one", "1\n");
    directory.link(".hidden", "one");
    DirectoryReader reader(directory.path());
    std::map<std::string, std::uint64_t> entries;
    while (const auto entry = reader.next()) entries.emplace(entry->name, entry->inode);
    struct stat status {};
    REQUIRE(::stat(directory.file("one").c_str(), &status) == 0);
    REQUIRE(entries.size() == 2);
    CHECK(entries.at("one") == status.st_ino);
    CHECK(find_line(reader.fd(), "one") == "1");
    CHECK(find_symlink(directory.file(".hidden")) == "one");
    CHECK(list_directory(directory.file("absent")).empty());
    CHECK(find_symlink(directory.file("absent")) == std::nullopt);
    CHECK_THROWS_WITH(find_symlink(directory.file("one")), Catch::Contains(directory.file("one")));
    CHECK_THROWS_WITH(list_directory(std::string(5000, 'x')), Catch::Contains("xxx"));
}

TEST_CASE("a file that a configuration names is read only if it is a regular one") {
    const Directory directory;
    const std::string file = directory.path() + "/file";
    CHECK(read_named_file_if_exists(file, 9) == std::nullopt);
    create_file_durably(file, "content");
    CHECK(read_named_file_if_exists(file, 9) == "content");
    CHECK_THROWS_WITH(read_named_file_if_exists(file, 6), Catch::Contains(file));
    REQUIRE(::mkfifo((directory.path() + "/pipe").c_str(), 0600) == 0);
    CHECK_THROWS_WITH(read_named_file_if_exists(directory.path() + "/pipe", 9), Catch::Contains("regular file"));
    CHECK_THROWS_WITH(read_named_file_if_exists(directory.path(), 9), Catch::Contains("regular file"));
    CHECK_THROWS_WITH(read_named_file_if_exists("/dev/null", 9), Catch::Contains("regular file"));
}

TEST_CASE("a file that may be absent is no error, and neither is a name that no file can have") {
    const Directory directory;
    for (const std::string& name : {std::string("absent"), std::string(300, 'x')}) {
        const std::string path = directory.file(name);
        CHECK_FALSE(read_file_if_exists(path, 10));
        CHECK_THROWS_AS(read_file(path, 10), SystemError);
        CHECK(remove_file_durably(path) == Removed::was_absent);
    }
    CHECK_THROWS_AS(write_file_durably(directory.file(std::string(300, 'x')), "x"), SystemError);
}

TEST_CASE("directories are created with their parents, once") {
    const Directory directory;
    for (int time = 0; time < 2; ++time) make_directories(directory.file("a/b/c"));
    for (const char* created : {"a", "a/b/c"}) CHECK(mode_of(directory.file(created)) == 0700U);
    CHECK_THROWS_AS(make_directories(directory.write("f", "") + "/sub"), SystemError);
}

TEST_CASE("a file is created whole and private, unless one exists") {
    const Directory directory;
    const std::string path = directory.file("database");
    create_file_durably(path, "image");
    CHECK(mode_of(path) == 0600U);
    CHECK_THROWS_WITH(create_file_durably(path, "other"), Catch::Matchers::Contains("file exists"));
    CHECK(read_file(path, 100) == "image");
    CHECK_THROWS_AS(create_file_durably(directory.file("absent/database"), "image"), SystemError);
}
