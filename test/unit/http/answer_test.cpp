#include "answer.hpp"
#include "socket.hpp"

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
        Answer answer(200);
        const std::string bytes = "HTTP/1.1 200 OK\r\n" + std::string(rest);
        for (const char& byte : bytes) {
            CHECK_FALSE(answer.is_whole());
            answer.take({&byte, 1});
        }
        CHECK(answer.is_whole());
        CHECK(answer.response().body == body);
    }
}

TEST_CASE("an answer may be so long with all that is around its body, and no longer") {
    const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const std::string extension = ";" + std::string(1000, 'x');
    std::string extended = chunked;
    for (int chunk = 0; chunk < 100; ++chunk) extended += "1" + extension + "\r\na\r\n";
    struct Row {
        std::string begin, repeated;
        std::size_t most;
    };
    for (const auto& [begin, repeated, most] : {
             Row{chunked, "1" + extension + "\r\na\r\n", 1'000'000},  // extensions of many chunks
             Row{chunked + "1;", std::string(1000, 'x'), 66'600},     // of one
             Row{chunked + "0\r\n", "a: b\r\n", 66'600},              // trailers
             Row{chunked + "0\r\na: ", "b", 66'600},                  // one
             Row{"HTTP/1.1 200 OK\r\n\r\n", "xxxxxxxxxx", 1'000'000}, // a body without a length
         }) {
        INFO(begin << repeated);
        Answer answer(1'000'000);
        answer.take(begin);
        std::size_t taken = begin.size();
        try {
            for (; taken <= 1'000'000; taken += repeated.size()) answer.take(repeated);
            FAIL("it is taken");
        } catch (const Failure& failure) {
            CHECK_FALSE(failure.why.empty());
            CHECK(taken <= most);
            CHECK(taken + repeated.size() > most - 1200);
        }
    }
    Answer answer(extended.size() + 5);
    answer.take(extended);
    answer.take("0\r\n\r\n");
    CHECK(answer.response().body == std::string(100, 'a'));
}
