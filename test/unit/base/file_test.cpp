#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>

#include "temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

using namespace rdmanet::base;

TEST_CASE("a durable write creates or replaces a private file, without leftovers") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("record");
    write_file_durably(path, "one");
    write_file_durably(path, "two, longer");
    write_file_durably(path, "3");
    CHECK(read_file(path, 100) == "3");
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600U);
    CHECK(::access((path + ".tmp").c_str(), F_OK) != 0);
}

TEST_CASE("a durable write ignores what a killed writer left") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("record");
    write_file_durably(path + ".tmp", "half of a rec");
    write_file_durably(path, "whole");
    CHECK(read_file(path, 100) == "whole");
}

TEST_CASE("a durable write does not follow a symbolic link") {
    const TemporaryDirectory directory;
    const std::string victim = directory.file("victim");
    write_file_durably(victim, "untouched");
    REQUIRE(::symlink(victim.c_str(), directory.file("record.tmp").c_str()) == 0);
    CHECK_THROWS_AS(write_file_durably(directory.file("record"), "x"), SystemError);
    CHECK(read_file(victim, 100) == "untouched");
}

TEST_CASE("a failed write keeps the old content") {
    const TemporaryDirectory directory;
    REQUIRE(::mkdir(directory.file("record").c_str(), 0700) == 0); // rename() onto a directory fails
    CHECK_THROWS_AS(write_file_durably(directory.file("record"), "x"), SystemError);
    CHECK(::access(directory.file("record.tmp").c_str(), F_OK) != 0);
}

TEST_CASE("a removal reports whether the file existed, and throws if it stays") {
    const TemporaryDirectory directory;
    write_file_durably(directory.file("record"), "x");
    CHECK(remove_file_durably(directory.file("record")) == Removed::yes);
    CHECK(remove_file_durably(directory.file("record")) == Removed::was_absent);
    REQUIRE(::mkdir(directory.file("record").c_str(), 0700) == 0);
    CHECK_THROWS_AS(remove_file_durably(directory.file("record")), SystemError);
}

TEST_CASE("reads have a size limit, and errors name the file") {
    const TemporaryDirectory directory;
    write_file_durably(directory.file("f"), "0123456789");
    CHECK(read_file(directory.file("f"), 10).size() == 10);
    try {
        (void)read_file(directory.file("f"), 9);
        FAIL("no error");
    } catch (const SystemError& error) {
        CHECK(error.errno_value() == EFBIG);
        CHECK(std::string(error.what()).find(directory.file("f")) != std::string::npos);
    }
}

TEST_CASE("a regular file is read whole, by its path or from its open directory") {
    const TemporaryDirectory directory;
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

TEST_CASE("a file that a configuration names is read only if it is a regular one") {
    const TemporaryDirectory directory;
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

TEST_CASE("an absent file is not an error if it may be absent") {
    const TemporaryDirectory directory;
    CHECK_FALSE(read_file_if_exists(directory.file("absent"), 10));
    CHECK_THROWS_AS(read_file(directory.file("absent"), 10), SystemError);
    CHECK(remove_file_durably(directory.file("absent")) == Removed::was_absent);
    write_file_durably(directory.file("f"), "");
    CHECK(remove_file_durably(directory.file("f")) == Removed::yes);
    CHECK_FALSE(read_file_if_exists(directory.file("f"), 10));
}

TEST_CASE("a name that no file can have counts as an absent file") {
    const TemporaryDirectory directory;
    const std::string path = directory.file(std::string(300, 'x'));
    CHECK_FALSE(read_file_if_exists(path, 10));
    CHECK(remove_file_durably(path) == Removed::was_absent);
    CHECK_THROWS_AS(write_file_durably(path, "x"), SystemError);
}

TEST_CASE("directories are created with their parents, once") {
    const TemporaryDirectory directory;
    make_directories(directory.file("a/b/c"));
    make_directories(directory.file("a/b/c"));
    struct stat status {};
    for (const char* created : {"a", "a/b/c"}) {
        REQUIRE(::stat(directory.file(created).c_str(), &status) == 0);
        CHECK((status.st_mode & 0777U) == 0700U);
    }
    write_file_durably(directory.file("f"), "");
    CHECK_THROWS_AS(make_directories(directory.file("f/sub")), SystemError);
}

TEST_CASE("a file is created whole and private, unless one exists") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("database");
    create_file_durably(path, "image");
    CHECK(read_file(path, 100) == "image");
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600U);
    CHECK_THROWS_WITH(create_file_durably(path, "other"), Catch::Matchers::Contains("file exists"));
    CHECK(read_file(path, 100) == "image");
    CHECK_THROWS_AS(create_file_durably(directory.file("absent/database"), "image"), SystemError);
}
