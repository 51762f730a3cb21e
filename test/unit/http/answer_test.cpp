#include "answer.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>

using namespace rdmanet;
using namespace rdmanet::http;

TEST_CASE("an answer that comes in single bytes is the same answer") {
    struct Row {
        std::string_view rest, body;
    };
    for (const auto& [rest, body] : {
             Row{"Content-Length: 5\r\n\r\nhello", "hello"},
             Row{"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde"},
             Row{"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ""},
             Row{"Transfer-Encoding: chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n", ""},
         }) {
        INFO(rest);
        Answer answer(100);
        const std::string bytes = "HTTP/1.1 200 OK\r\n" + std::string(rest);
        for (const char& byte : bytes) {
            CHECK_FALSE(answer.is_whole());
            answer.take({&byte, 1});
        }
        CHECK(answer.is_whole());
        CHECK(answer.response().body == body);
    }
}
