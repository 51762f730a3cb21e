#include "sample_record.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using state::AttachmentRecord;

TEST_CASE("a record that was written is read back whole") {
    const AttachmentRecord record = state::sample_record();
    const AttachmentRecord read = AttachmentRecord::parse(record.to_text());
    CHECK(read.to_text() == record.to_text());
    CHECK(read.key == record.key);
    CHECK(read.netns.inode == UINT64_MAX);
    CHECK(std::get<state::CreateLink>(read.steps.at(0)).parent_in_pod);
    CHECK(std::get<state::DelegateIpam>(read.steps.at(1)).config == R"({"name":"roce"})");
}

TEST_CASE("a record cut at any byte is refused") {
    const std::string text = state::sample_record().to_text();
    for (std::size_t length = 0; length < text.size(); ++length)
        CHECK_THROWS_AS(AttachmentRecord::parse(text.substr(0, length)), base::Error);
}

TEST_CASE("a record of another version is refused by name") {
    std::string text = state::sample_record().to_text();
    text.replace(text.find("\"version\": 1"), 12, "\"version\": 2");
    CHECK_THROWS_WITH(AttachmentRecord::parse(text), "version: expected a whole number from 1 to 1, found 2");
}

TEST_CASE("a step that this version doesn't know is refused, never skipped") {
    std::string text = state::sample_record().to_text();
    text.replace(text.find("create-link"), 11, "move-device");
    CHECK_THROWS_WITH(AttachmentRecord::parse(text), "steps[0].step: expected a known step, found \"move-device\"");
}
