#include "messages.hpp"

#include <rdmanet/base/error.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::verify;

namespace {

End an_end() {
    End end;
    end.endpoint = {.node = "node-1",
                    .boot_id = "b",
                    .pod = "default/web",
                    .netns = "/run/netns/x",
                    .netns_inode = 4026532241,
                    .interface = "net1",
                    .ifindex = 7,
                    .address = base::IpAddress::parse("10.1.0.2"),
                    .device = "mlx5_2",
                    .port = 1,
                    .gid_index = 3,
                    .mtu = 4096,
                    .rate = 2.5};
    end.queue = {.number = 0x123456, .first_packet = 0xffffff, .lid = 9, .key = 0xffffffff, .memory = 0x7fff12345000};
    end.queue.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, 2};
    return end;
}

} // namespace

TEST_CASE("a failure arrives with its suspect, also from an end that names none") {
    const auto sent = [](const Failure& failure) { return parse_failure(json::Document::parse(to_failure(failure))); };
    const PeersFailure lost = sent({"no packet", "ping it", Suspect::way});
    CHECK(std::string(lost.what()) == "no packet");
    CHECK(lost.fix() == "ping it");
    CHECK(lost.suspect() == Suspect::way);
    CHECK(sent({"no memory", "ulimit"}).suspect() == Suspect::unknown);
    const auto old = json::Document::parse(R"({"type":"failed","what":"a","fix":"b"})");
    CHECK(parse_failure(old).suspect() == Suspect::unknown);
}

TEST_CASE("an end arrives as it was sent, without what is only its node's") {
    const End sent = an_end();
    const End found = parse_end(json::Document::parse(to_message(sent)));
    CHECK(found.endpoint.is_same_as(sent.endpoint));
    CHECK(found.endpoint.node == "node-1");
    CHECK(found.endpoint.to_string() == "default/web net1");
    CHECK(found.endpoint.netns.empty());
    CHECK(found.endpoint.address == sent.endpoint.address);
    CHECK(found.endpoint.gid_index == 3);
    CHECK(found.endpoint.mtu == 4096);
    CHECK_FALSE(found.endpoint.pkey);
    CHECK(found.endpoint.rate == 2.5);
    CHECK(found.queue.number == sent.queue.number);
    CHECK(found.queue.first_packet == sent.queue.first_packet);
    CHECK(found.queue.lid == 9);
    CHECK(found.queue.gid == sent.queue.gid);
    CHECK(found.queue.key == sent.queue.key);
    CHECK(found.queue.memory == sent.queue.memory);

    End infiniband = sent;
    infiniband.endpoint.pkey = 0x7fff;
    infiniband.queue.needs_grh = true;
    const End there = parse_end(json::Document::parse(to_message(infiniband)));
    CHECK(there.endpoint.pkey == 0x7fff);
    CHECK(there.queue.needs_grh);

    End v6 = sent;
    v6.queue.gid = {0xfe, 0x80, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    CHECK(parse_end(json::Document::parse(to_message(v6))).queue.gid == v6.queue.gid);
}

TEST_CASE("an end that is not one is refused") {
    for (const char* text : {"{}", "[]", R"({"type":"end","node":1})"}) {
        INFO(text);
        CHECK_THROWS_AS(parse_end(json::Document::parse(text)), base::Error);
    }
    std::string message = to_message(an_end());
    message.replace(message.find("\"port\":1"), 8, "\"port\":300");
    CHECK_THROWS_AS(parse_end(json::Document::parse(message)), base::Error);
}

TEST_CASE("results arrive as they were measured, as far as they were") {
    Report sent;
    sent.ping = Ping{.messages = 20, .bytes = 4096};
    sent.bandwidth = Bandwidth{.rate = 92.125, .bytes = 1ULL << 40U, .size = 65536};
    Report found;
    parse_results(json::Document::parse(to_results(sent)), found);
    CHECK(found.ping->messages == 20);
    CHECK(found.bandwidth->rate == 92.125);
    CHECK(found.bandwidth->bytes == 1ULL << 40U);
    CHECK_FALSE(found.latency);
    sent.latency = Latency{.typical = 1.5, .slow = 3.25, .rounds = 5000, .size = 8};
    parse_results(json::Document::parse(to_results(sent)), found);
    CHECK(found.latency->typical == 1.5);
    CHECK(found.latency->slow == 3.25);
}
