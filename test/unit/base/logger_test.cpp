#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/logger.hpp>

#include "temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

using namespace rdmanet::base;

TEST_CASE("an event is one line, whatever it carries, and only if it is wanted") {
    const TemporaryDirectory directory;
    const Logger log = Logger::to_file(directory.file("log"), LogLevel::warning);
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

TEST_CASE("a log file is a regular file, and no link to one") {
    const TemporaryDirectory directory;
    REQUIRE(::symlink("/etc/passwd", directory.file("link").c_str()) == 0);
    CHECK_THROWS_AS(Logger::to_file(directory.file("link"), LogLevel::info), SystemError);
    REQUIRE(::mkfifo(directory.file("fifo").c_str(), 0600) == 0);
    CHECK_THROWS_AS(Logger::to_file(directory.file("fifo"), LogLevel::info), Error);
    CHECK_THROWS_AS(Logger::to_file(directory.file("absent/log"), LogLevel::info), SystemError);
}
