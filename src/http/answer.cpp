#include "answer.hpp"

#include "socket.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <ctime>
#include <string>

namespace rdmanet::http {
namespace {

namespace beast = boost::beast::http;

// Of a chunk's extensions, or of trailers. Beast limits headers itself.
constexpr std::size_t kMostUnread = 65536;

std::string_view text_of(boost::beast::string_view text) {
    return {text.data(), text.size()};
}

/// IMF-fixdate (RFC 9110, section 5.6.7), which every server sends: "Sun, 06 Nov 1994 08:49:37 GMT".
std::optional<std::int64_t> parse_date(std::string_view text) {
    constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (text.size() != 29 || !text.ends_with(" GMT")) return std::nullopt;
    const auto number = [&](std::size_t at, std::size_t length) {
        return base::parse_integer<int>(text.substr(at, length));
    };
    const auto month = kMonths.find(text.substr(8, 3));
    const auto day = number(5, 2);
    const auto year = number(12, 4);
    const auto hour = number(17, 2);
    const auto minute = number(20, 2);
    const auto second = number(23, 2);
    if (month == std::string_view::npos || month % 3 != 0 || !day || !year || !hour || !minute || !second)
        return std::nullopt;
    std::tm time{};
    time.tm_year = *year - 1900;
    time.tm_mon = static_cast<int>(month / 3);
    time.tm_mday = *day;
    time.tm_hour = *hour;
    time.tm_min = *minute;
    time.tm_sec = *second;
    return ::timegm(&time);
}

} // namespace

class Answer::Impl {
public:
    explicit Impl(std::size_t most_bytes) : most(most_bytes) {
        parser.body_limit(most_bytes);
        parser.eager(true);
    }

    /// A chunked body ends with at least "0\r\n\r\n", and basic_parser::parse_chunk_header() asserts that it gets as much
    /// once it has seen "0\r\n".
    [[nodiscard]] bool can_be_used() const {
        constexpr std::size_t kLeastOfChunks = 5;
        return !unread.empty() && !(parser.is_header_done() && parser.chunked() && unread.size() < kLeastOfChunks);
    }

    beast::response_parser<beast::string_body> parser;
    std::string unread; // the parser wants a header whole, the line before a chunk, and all trailers
    std::size_t most;
    std::size_t taken = 0;
};

Answer::Answer(std::size_t most_bytes) : impl_(std::make_unique<Impl>(most_bytes)) {}
Answer::~Answer() = default;

void Answer::take(std::string_view bytes) {
    impl_->taken += bytes.size();
    if (impl_->taken > impl_->most)
        throw Failure{Stage::http, fmt::format("the answer has more than {} bytes", impl_->most)};
    impl_->unread.append(bytes);
    while (!is_whole() && impl_->can_be_used()) {
        boost::system::error_code error;
        const std::size_t used =
            impl_->parser.put(boost::asio::const_buffer(impl_->unread.data(), impl_->unread.size()), error);
        impl_->unread.erase(0, used);
        if (error == beast::error::need_more && impl_->unread.size() > kMostUnread)
            throw Failure{Stage::http, "the answer has too much beside its content"};
        if (error == beast::error::need_more) return;
        if (error)
            throw Failure{Stage::http, fmt::format("the answer is no HTTP that can be used: {}", error.message())};
        if (used == 0) return;
    }
}

void Answer::take_end() {
    boost::system::error_code error;
    if (is_begun() && !is_whole()) impl_->parser.put_eof(error);
    if (error || !is_whole())
        throw Failure{Stage::http,
                      is_begun() ? "the connection ended in the middle of the answer"
                                 : "the server closed the connection without an answer",
                      Cause::end};
}

bool Answer::is_begun() const {
    return impl_->parser.got_some();
}
bool Answer::is_whole() const {
    return impl_->parser.is_done();
}
bool Answer::keeps_connection() const {
    return impl_->parser.keep_alive();
}

Response Answer::response() {
    const auto& message = impl_->parser.get();
    Response response{.status = message.result_int()};
    response.date = parse_date(text_of(message[beast::field::date]));
    const std::string_view later = text_of(message[beast::field::retry_after]); // RFC 9110, section 10.2.3
    if (const auto seconds = base::parse_integer<unsigned>(later))
        response.retry_after = std::chrono::seconds(*seconds);
    else if (const auto at = parse_date(later))
        response.retry_after =
            std::chrono::seconds(std::max<std::int64_t>(*at - response.date.value_or(::time(nullptr)), 0));
    response.body = std::move(impl_->parser.get().body());
    return response;
}

} // namespace rdmanet::http
