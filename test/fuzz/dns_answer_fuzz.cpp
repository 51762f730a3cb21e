// Packets that say they come from a name server, and resolv.conf(5). The first byte says what is asked.
#include "demand.hpp"

#include "dns.hpp"
#include "dns_message.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

constexpr std::size_t kHeader = 12;

/// Every address stands in the packet, and only an answer has some.
void check(const std::vector<unsigned char>& packet, const http::Question& question) {
    const auto answer = http::parse_answer(packet, question);
    if (!answer) return;
    demand(packet.size() >= question.packet.size(), "an answer is shorter than its question");
    demand(answer->verdict == http::Verdict::answered || answer->addresses.empty(), "a refusal has addresses");
    for (const base::IpAddress& address : answer->addresses) {
        demand(address.family() == question.family, "an address of the other family");
        const auto bytes = address.bytes();
        demand(std::search(packet.begin(), packet.end(), bytes.begin(),
                           bytes.begin() + static_cast<std::ptrdiff_t>(address.byte_count())) != packet.end(),
               "an address that the packet does not have");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const auto configuration = http::parse_resolver_configuration(as_text(data, size));
    demand(!configuration.servers.empty() && configuration.dots <= 15, "an impossible resolv.conf");
    if (size < 1 + kHeader) return 0;
    auto question = http::make_question("a.b", data[0] % 2 == 0 ? base::Family::v4 : base::Family::v6);
    demand(question.has_value(), "a name that can't be asked for");
    const std::vector<unsigned char> packet(data + 1, data + size);
    question->id = static_cast<std::uint16_t>(packet[0] << 8U | packet[1]);
    check(packet, *question);
    // The same with the question repeated, so that most inputs come as far as the records.
    std::vector<unsigned char> repeated(packet.begin(), packet.begin() + kHeader);
    repeated.insert(repeated.end(), question->packet.begin() + kHeader, question->packet.end());
    repeated.insert(repeated.end(), packet.begin() + kHeader, packet.end());
    check(repeated, *question);
    return 0;
}
