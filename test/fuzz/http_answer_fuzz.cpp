// Answers of HTTP servers: they mean the same however the network cuts them. The first byte says where it does.
#include "demand.hpp"

#include "answer.hpp"
#include "socket.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

constexpr std::size_t kMostBytes = 1024;

/// nullopt for what is refused.
std::optional<http::Response> read(std::string_view bytes, std::size_t piece) try {
    http::Answer answer(kMostBytes);
    while (!bytes.empty() && !answer.is_whole()) {
        answer.take(bytes.substr(0, piece));
        bytes.remove_prefix(std::min(piece, bytes.size()));
    }
    if (!answer.is_whole()) answer.take_end();
    (void)answer.keeps_connection();
    return answer.response();
} catch (const http::Failure& failure) {
    demand(!failure.why.empty(), "a failure without a reason");
    return std::nullopt;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes = as_text(data + 1, size - 1);
    const auto whole = read(bytes, bytes.size() + 1);
    const auto in_pieces = read(bytes, std::size_t{data[0]} % 16 + 1);
    demand(whole.has_value() == in_pieces.has_value(), "an answer is refused when it is cut");
    if (!whole) return 0;
    demand(whole->status == in_pieces->status && whole->body == in_pieces->body &&
               whole->retry_after == in_pieces->retry_after && whole->date == in_pieces->date,
           "an answer changes when it is cut");
    demand(whole->body.size() <= kMostBytes, "a body is longer than it may be");
    return 0;
}
