#include "support/concat.hpp"
#include "support/names.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/logger.hpp>

#include "temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

using namespace rdmanet::base;
using rdmanet::test::concat;
using rdmanet::test::Names;

TEST_CASE("an event is one line, whatever it carries, and only if it is wanted") {
    const TemporaryDirectory directory;
    const Logger log = Logger::to_file(directory.path(), "log", LogLevel::warning);
    log.warn("first\nsecond\r");
    log.info("not wanted");
    log.error("last");
    const std::string text = read_file(directory.file("log"), 1000);
    CHECK(std::count(text.begin(), text.end(), '\n') == 2);
    CHECK(text.find(" rdmanet warning first second ") != std::string::npos);
    CHECK(text.find("not wanted") == std::string::npos);
    CHECK(text.ends_with("rdmanet error last\n"));
    CHECK(text[10] == 'T');
}

namespace {

/// Why `file` below `directory` is refused; empty if it is not.
std::string refusal(const TemporaryDirectory& directory, const std::string& file) try {
    (void)Logger::to_file(directory.path(), file, LogLevel::info);
    return {};
} catch (const Error& error) {
    return error.what();
}

} // namespace

TEST_CASE("a log file is a regular file, and no link to one") {
    const TemporaryDirectory directory;
    write_file_durably(directory.file("target"), "");
    REQUIRE(::symlink("target", directory.file("link").c_str()) == 0);
    REQUIRE(::link(directory.file("target").c_str(), directory.file("second").c_str()) == 0);
    REQUIRE(::mkfifo(directory.file("fifo").c_str(), 0600) == 0);
    REQUIRE(::mkdir(directory.file("elsewhere").c_str(), 0700) == 0);
    REQUIRE(::symlink("elsewhere", directory.file("directory").c_str()) == 0);
    const auto told = [&](const char* name, const char* why) {
        return concat("log file: \"", directory.path(), '/', name, "\" ", why);
    };
    CHECK(refusal(directory, "link") == told("link", "is a symbolic link, which logging does not follow: remove it"));
    CHECK(refusal(directory, "second") == told("second", "has 2 hard links, expected 1: remove it"));
    CHECK(refusal(directory, "directory/log") == told("directory", "is not a directory: remove it"));
    CHECK(refusal(directory, "target/log") == told("target", "is not a directory: remove it"));
    CHECK_FALSE(refusal(directory, "fifo").empty()); // nobody reads it
    CHECK_FALSE(refusal(directory, "elsewhere").empty());
    CHECK(read_file(directory.file("target"), 100).empty());
}

TEST_CASE("the directory of a log file is made, and is nobody else's to write") {
    const TemporaryDirectory directory;
    CHECK(refusal(directory, "ours/log").empty());
    REQUIRE(::chmod(directory.file("ours").c_str(), 0777) == 0);
    CHECK_THAT(refusal(directory, "ours/log"),
               Names(directory.file("ours"), "writable", concat("`chmod o-w ", directory.file("ours"), "`")));
}

TEST_CASE("a log file of another user is refused", "[root]") {
    if (::geteuid() != 0) return; // who else could make one?
    const TemporaryDirectory directory;
    write_file_durably(directory.file("log"), "");
    REQUIRE(::chown(directory.file("log").c_str(), 12345, 0) == 0);
    CHECK_THAT(refusal(directory, "log"),
               Names(directory.file("log"), "12345", "expected 0", concat("`chown 0 ", directory.file("log"), "`")));
}
