#include "dns_message.hpp"

#include <rdmanet/base/text.hpp>

#include <arpa/nameser.h>
#include <sys/random.h>

#include <algorithm>
#include <cstddef>

namespace rdmanet::http {
namespace {

using base::Family;
using Bytes = std::vector<unsigned char>;

std::uint16_t random_number() {
    std::uint16_t number = 0;
    (void)::getrandom(&number, sizeof number, GRND_NONBLOCK);
    return number;
}

ns_type type_of(Family family) {
    return family == Family::v4 ? ns_t_a : ns_t_aaaa;
}

std::string_view text_of(std::span<const unsigned char> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Whether the packet repeats the question, as an answer does: anybody may send packets.
bool repeats(std::span<const unsigned char> bytes, const Question& question) {
    const std::span asked = std::span(question.packet).subspan(NS_HFIXEDSZ);
    return bytes.size() >= question.packet.size() &&
           base::equals_ignoring_case(text_of(bytes.subspan(NS_HFIXEDSZ, asked.size())), text_of(asked));
}

} // namespace

void append_number(Bytes& packet, unsigned number) {
    packet.push_back(static_cast<unsigned char>(number >> 8U));
    packet.push_back(static_cast<unsigned char>(number & 0xffU));
}

std::optional<Question> make_question(std::string_view name, Family family) {
    constexpr unsigned kRecursionDesired = 0x0100;
    constexpr std::size_t kLongestLabel = 63;
    constexpr std::size_t kLongestName = 254; // with a dot for each label
    Question question{.family = family, .id = random_number()};
    for (const unsigned number : {unsigned{question.id}, kRecursionDesired, 1U, 0U, 0U, 0U})
        append_number(question.packet, number);
    if (name.ends_with('.')) name.remove_suffix(1);
    if (name.size() >= kLongestName) return std::nullopt;
    while (!name.empty()) {
        const std::string_view label = name.substr(0, name.find('.'));
        if (label.empty() || label.size() > kLongestLabel) return std::nullopt;
        question.packet.push_back(static_cast<unsigned char>(label.size()));
        question.packet.insert(question.packet.end(), label.begin(), label.end());
        name.remove_prefix(std::min(label.size() + 1, name.size()));
    }
    question.packet.push_back(0);
    append_number(question.packet, type_of(family));
    append_number(question.packet, ns_c_in);
    return question;
}

std::optional<NameAnswer> parse_answer(std::span<const unsigned char> bytes, const Question& question) {
    ns_msg message;
    if (::ns_initparse(bytes.data(), static_cast<int>(bytes.size()), &message) != 0 ||
        ns_msg_id(message) != question.id || ns_msg_getflag(message, ns_f_qr) == 0 || !repeats(bytes, question))
        return std::nullopt;
    const auto code = ns_msg_getflag(message, ns_f_rcode);
    if (code == ns_r_nxdomain) return NameAnswer{.verdict = Verdict::unknown_name};
    if (code != ns_r_noerror) return NameAnswer{.verdict = Verdict::refused};
    NameAnswer answer{.is_cut = ns_msg_getflag(message, ns_f_tc) != 0};
    for (int at = 0; at < ns_msg_count(message, ns_s_an); ++at) {
        ns_rr record;
        if (::ns_parserr(&message, ns_s_an, at, &record) != 0) break; // a cut one
        if (ns_rr_type(record) == type_of(question.family) &&
            ns_rr_rdlen(record) == base::address_bits(question.family) / 8)
            answer.addresses.push_back(base::IpAddress::from_bytes(question.family, ns_rr_rdata(record)));
    }
    return answer;
}

} // namespace rdmanet::http
