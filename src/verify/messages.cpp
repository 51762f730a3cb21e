#include "messages.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>

#include <cmath>

namespace rdmanet::verify {
namespace {

using json::Reader;
using json::Writer;

constexpr std::int64_t kMost = INT64_MAX;
constexpr double kThousand = 1000; // fractions travel as thousandths: JSON's numbers here are whole

std::array<unsigned char, 16> gid_of(const Reader& text) {
    const auto gid = base::parse_hex_pairs<16>(text.string());
    if (!gid) throw text.unexpected("the 16 bytes of a GID");
    return *gid;
}

std::int64_t thousandths(double number) {
    return std::llround(number * kThousand);
}
double number_of_thousandths(const Reader& reader) {
    return static_cast<double>(reader.integer(0, kMost)) / kThousand;
}

template <class T>
T whole(const Reader& object, std::string_view key) {
    constexpr std::uint64_t kLimit = std::numeric_limits<T>::max();
    return static_cast<T>(object.at(key).integer(0, static_cast<std::int64_t>(std::min<std::uint64_t>(kLimit, kMost))));
}

} // namespace

std::string to_hello(std::string_view token) {
    return Writer()
        .begin_object()
        .member("type", "hello")
        .member("version", kVersion)
        .member("token", token)
        .end_object()
        .to_text();
}

std::string to_message(const End& end) {
    const Endpoint& here = end.endpoint;
    Writer writer;
    writer.begin_object()
        .member("type", "end")
        .member("node", here.node)
        .member("boot", here.boot_id)
        .member("pod", here.pod)
        .member("namespace", here.netns_inode)
        .member("interface", here.interface)
        .member("ifindex", here.ifindex)
        .member("device", here.device)
        .member("port", here.port)
        .member("infiniband", here.is_infiniband)
        .member("gidIndex", here.gid_index)
        .member("mtu", here.mtu)
        .member("rate", thousandths(here.rate));
    if (here.address) writer.member("address", here.address->to_string());
    if (here.pkey) writer.member("pkey", std::uint32_t{*here.pkey});
    return writer.member("queue", end.queue.number)
        .member("firstPacket", end.queue.first_packet)
        .member("lid", std::uint32_t{end.queue.lid})
        .member("gid", base::hex_pairs(end.queue.gid))
        .member("grh", end.queue.needs_grh)
        .member("key", end.queue.key)
        .member("memory", end.queue.memory)
        .end_object()
        .to_text();
}

End parse_end(const json::Document& message) {
    const Reader root = message.root();
    End end;
    Endpoint& there = end.endpoint;
    there.node = root.at("node").string();
    there.boot_id = root.at("boot").string();
    there.pod = root.at("pod").string();
    there.netns_inode = whole<std::uint64_t>(root, "namespace");
    there.interface = root.at("interface").string();
    there.ifindex = whole<unsigned>(root, "ifindex");
    there.device = root.at("device").string();
    there.port = whole<std::uint8_t>(root, "port");
    there.is_infiniband = root.at("infiniband").boolean();
    there.gid_index = whole<unsigned>(root, "gidIndex");
    there.mtu = whole<unsigned>(root, "mtu");
    there.rate = number_of_thousandths(root.at("rate"));
    if (const auto address = root.find("address")) there.address = base::IpAddress::parse(address->string());
    if (root.find("pkey")) there.pkey = whole<std::uint16_t>(root, "pkey");
    end.queue.number = whole<std::uint32_t>(root, "queue");
    end.queue.first_packet = whole<std::uint32_t>(root, "firstPacket");
    end.queue.lid = whole<std::uint16_t>(root, "lid");
    end.queue.gid = gid_of(root.at("gid"));
    end.queue.needs_grh = root.at("grh").boolean();
    end.queue.key = whole<std::uint32_t>(root, "key");
    end.queue.memory = whole<std::uint64_t>(root, "memory");
    return end;
}

std::string to_results(const Report& report) {
    Writer writer;
    writer.begin_object().member("type", "results");
    if (report.ping) writer.member("pings", report.ping->messages).member("pingBytes", report.ping->bytes);
    if (report.bandwidth)
        writer.member("bandwidth", thousandths(report.bandwidth->rate))
            .member("bytes", report.bandwidth->bytes)
            .member("writeSize", report.bandwidth->size);
    if (report.latency)
        writer.member("typical", thousandths(report.latency->typical))
            .member("slow", thousandths(report.latency->slow))
            .member("rounds", report.latency->rounds)
            .member("latencySize", report.latency->size);
    return writer.end_object().to_text();
}

void parse_results(const json::Document& message, Report& report) {
    const Reader root = message.root();
    if (root.find("pings"))
        report.ping = Ping{.messages = whole<unsigned>(root, "pings"), .bytes = whole<unsigned>(root, "pingBytes")};
    if (root.find("bandwidth"))
        report.bandwidth = Bandwidth{.rate = number_of_thousandths(root.at("bandwidth")),
                                     .bytes = whole<std::uint64_t>(root, "bytes"),
                                     .size = whole<unsigned>(root, "writeSize")};
    if (root.find("typical"))
        report.latency = Latency{.typical = number_of_thousandths(root.at("typical")),
                                 .slow = number_of_thousandths(root.at("slow")),
                                 .rounds = whole<unsigned>(root, "rounds"),
                                 .size = whole<unsigned>(root, "latencySize")};
}

std::string to_failure(const Failure& failure) {
    return Writer()
        .begin_object()
        .member("type", "failed")
        .member("what", failure.what())
        .member("fix", failure.fix())
        .member("way", failure.suspect() == Suspect::way)
        .end_object()
        .to_text();
}

PeersFailure parse_failure(const json::Document& message) {
    const Reader root = message.root();
    const auto way = root.find("way");
    return {root.at("what").string(), root.at("fix").string(), way && way->boolean() ? Suspect::way : Suspect::unknown};
}

std::string to_signal(std::string_view type) {
    return Writer().begin_object().member("type", type).end_object().to_text();
}

} // namespace rdmanet::verify
