// Packets of name servers (RFC 1035, section 4).
#pragma once

#include <rdmanet/base/ip_address.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace rdmanet::http {

enum class Verdict : std::uint8_t { answered, unknown_name, refused };

struct NameAnswer {
    Verdict verdict = Verdict::answered;
    std::vector<base::IpAddress> addresses;
    bool is_cut = false; // the rest comes over TCP only
};

/// One question about a name, and what became of it.
struct Question {
    base::Family family;
    std::uint16_t id;
    std::vector<unsigned char> packet;
    std::optional<NameAnswer> answer{};

    [[nodiscard]] bool has_addresses() const { return answer && !answer->addresses.empty(); }
};

void append_number(std::vector<unsigned char>& packet, unsigned number);

/// nullopt for what is no name (RFC 1035, section 2.3.4).
[[nodiscard]] std::optional<Question> make_question(std::string_view name, base::Family family);

/// nullopt for what does not answer the question.
[[nodiscard]] std::optional<NameAnswer> parse_answer(std::span<const unsigned char> bytes, const Question& question);

} // namespace rdmanet::http
