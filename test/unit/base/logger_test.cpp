#include "support/concat.hpp"
#include "support/directory.hpp"
#include "support/names.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/logger.hpp>

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

using namespace rdmanet::base;
using rdmanet::test::concat;
using rdmanet::test::Directory;
using rdmanet::test::Names;

TEST_CASE("an event is one line, whatever its text, and only if its level is wanted") {
    const Directory directory;
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

/// Why `file` below `directory` is refused. Empty if it is not.
std::string refusal(const Directory& directory, const std::string& file) try {
    (void)Logger::to_file(directory.path(), file, LogLevel::info);
    return {};
} catch (const Error& error) {
    return error.what();
}

} // namespace

TEST_CASE("a log file is a regular file, not a link") {
    const Directory directory;
    directory.link("link", "target");
    REQUIRE(::link(directory.write("target", "").c_str(), directory.file("second").c_str()) == 0);
    REQUIRE(::mkfifo(directory.file("fifo").c_str(), 0600) == 0);
    directory.make("elsewhere");
    directory.link("directory", "elsewhere");
    CHECK_THAT(refusal(directory, "link"), Names(directory.file("link"), "symbolic link"));
    CHECK_THAT(refusal(directory, "second"), Names(directory.file("second"), "2 hard links", "1"));
    CHECK_THAT(refusal(directory, "directory/log"), Names(directory.file("directory"), "not a directory"));
    CHECK_THAT(refusal(directory, "target/log"), Names(directory.file("target"), "not a directory"));
    CHECK_FALSE(refusal(directory, "fifo").empty()); // a FIFO without a reader
    CHECK_FALSE(refusal(directory, "elsewhere").empty());
    CHECK(read_file(directory.file("target"), 100).empty());
}

TEST_CASE("the directory of a log file is created, and must not be writable for others") {
    const Directory directory;
    CHECK(refusal(directory, "ours/log").empty());
    REQUIRE(::chmod(directory.file("ours").c_str(), 0777) == 0);
    CHECK_THAT(refusal(directory, "ours/log"),
               Names(directory.file("ours"), "writable", concat("`chmod o-w ", directory.file("ours"), "`")));
}

TEST_CASE("a log file of another user is refused", "[root]") {
    if (::geteuid() != 0) return; // only root can make such a file
    const Directory directory;
    REQUIRE(::chown(directory.write("log", "").c_str(), 12345, 0) == 0);
    CHECK_THAT(refusal(directory, "log"),
               Names(directory.file("log"), "12345", "expected 0", concat("`chown 0 ", directory.file("log"), "`")));
}
