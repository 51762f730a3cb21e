#include "support/loopback.hpp"
#include "support/without_socket.hpp"

#include <rdmanet/verify/meeting.hpp>

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace rdmanet;
using namespace rdmanet::verify;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

base::Deadline long_from_now() {
    return base::Deadline::in(120s);
}

base::IpAddress localhost() {
    return *base::IpAddress::parse("127.0.0.1");
}

/// A server that waits in a thread of its own until a client with the token "secret" comes.
class Waiting {
public:
    Waiting()
        : meeting_(localhost(), 0), thread_([this] {
              stream_ = meeting_.wait_for_client("secret", long_from_now(),
                                                 [this](const std::string& why) { refused_.push_back(why); });
          }) {}
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() {
        if (thread_.joinable()) (void)end();
    }

    [[nodiscard]] Peer peer() const { return {.host = "127.0.0.1", .port = meeting_.port()}; }
    /// Comes as the right client, and returns the reasons for which others were refused.
    std::vector<std::string> end(const std::string& host = "127.0.0.1") {
        const base::UniqueFd stream = meet({.host = host, .port = meeting_.port()}, "secret", long_from_now());
        thread_.join();
        return refused_;
    }

private:
    Meeting meeting_;
    base::UniqueFd stream_;
    std::vector<std::string> refused_;
    std::thread thread_;
};

} // namespace

TEST_CASE("a client with the token is accepted, whoever came before") {
    Waiting server;
    CHECK_THROWS_WITH(meet(server.peer(), "secreT", long_from_now()), Contains("the token is not the server's"));
    CHECK_THROWS_WITH(meet(server.peer(), "", long_from_now()), Contains("--server"));
    (void)test::connect_to(server.peer().port); // and is gone
    for (const std::string& text : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(20000, 'x')}) {
        const base::UniqueFd stranger = test::connect_to(server.peer().port);
        test::send_all(stranger.get(), text);
        char answer = 0;
        CHECK(::read(stranger.get(), &answer, 1) <= 0); // it is not a client
    }
    {
        const base::UniqueFd stranger = test::connect_to(server.peer().port);
        test::send_all(stranger.get(), R"({"type":"hello","version":99,"token":"secret"})"
                                       "\n");
        std::string answer(200, '\0');
        CHECK(::read(stranger.get(), answer.data(), answer.size()) > 0);
        CHECK_THAT(answer, Contains("version 99"));
    }
    CHECK(server.end().size() == 6);
}

TEST_CASE("a message that comes right behind the welcome is not lost") {
    const test::Listener server;
    base::UniqueFd stream;
    std::thread client([&] { stream = meet({.host = "127.0.0.1", .port = server.port()}, "secret", long_from_now()); });
    const base::UniqueFd accepted = server.accept();
    test::send_all(accepted.get(), "{\"type\":\"welcome\"}\n{\"type\":\"end\"}\n");
    client.join();
    char next[20] = {};
    CHECK(::recv(stream.get(), next, sizeof next, MSG_WAITALL | MSG_DONTWAIT) == 15);
    CHECK(std::string(next) == "{\"type\":\"end\"}\n");
}

TEST_CASE("a server is found by its name") {
    Waiting server;
    CHECK(server.end("localhost").empty());
    CHECK_THROWS_WITH(meet({.host = "no-such.invalid", .port = 1}, "secret", base::Deadline::in(100ms)),
                      Contains("DNS: looking up \"no-such.invalid\""));
}

TEST_CASE("an address of a family that the kernel lacks is one that does not answer") {
    std::string said;
    REQUIRE(test::run_without_socket(0, AF_INET6, EAFNOSUPPORT, [&] {
        try {
            (void)meet({.host = "::1", .port = 1}, "secret", long_from_now());
        } catch (const base::Error& error) {
            said = error.what();
        }
    }));
    CHECK_THAT(said, Contains("connect to [::1]:1: open a TCP socket: address family not supported") &&
                         Contains("`rdmanet verify --server"));
}

TEST_CASE("nobody waits for ever") {
    const Meeting meeting(localhost(), 0);
    CHECK_THROWS_AS(meeting.wait_for_client("secret", base::Deadline::in(1ms), [](const std::string&) {}),
                    base::TimeoutError);
    // A stranger whose turn comes too late is not looked at: more of them would make the wait endless.
    const base::UniqueFd stranger = test::connect_to(meeting.port());
    REQUIRE(stranger);
    std::vector<std::string> refused;
    CHECK_THROWS_AS(meeting.wait_for_client("secret", base::Deadline::in(0ms),
                                            [&](const std::string& why) { refused.push_back(why); }),
                    base::TimeoutError);
    CHECK(refused.empty());
    // It has never accepted the client.
    CHECK_THROWS_WITH(meet({.host = "127.0.0.1", .port = meeting.port()}, "secret", base::Deadline::in(1ms)),
                      Contains("says nothing"));
    const test::Listener listener;
    const std::uint16_t closed = listener.port();
    listener.end();
    CHECK_THROWS_WITH(meet({.host = "127.0.0.1", .port = closed}, "secret", long_from_now()),
                      Contains("rdmanet verify --server"));
}

TEST_CASE("tokens differ, and are compared as a whole") {
    CHECK(make_token().size() == 16);
    CHECK(make_token() != make_token());
    CHECK(is_same_token("abc", "abc"));
    CHECK_FALSE(is_same_token("abc", "abd"));
    CHECK_FALSE(is_same_token("ab", "abc"));
    CHECK_FALSE(is_same_token("abcd", "abc"));
}

TEST_CASE("a server listens on an address or a name of its node") {
    CHECK(find_listen_address("192.0.2.7", long_from_now()).to_string() == "192.0.2.7");
    CHECK(find_listen_address("fd00::7", long_from_now()).to_string() == "fd00::7");
    const std::string local = find_listen_address("localhost", long_from_now()).to_string();
    CHECK((local == "127.0.0.1" || local == "::1"));
    for (const char* wrong : {"no de", "[::1]", "no-such.invalid"}) {
        INFO(wrong);
        CHECK_THROWS_WITH(find_listen_address(wrong, base::Deadline::in(100ms)),
                          Contains("--listen") && Contains("address of this node"));
    }
    CHECK_THROWS_WITH(Meeting(base::IpAddress::parse("192.0.2.7"), 0),
                      Contains("192.0.2.7:0") && Contains("`ip address`"));
}

TEST_CASE("a peer is an address or a name, and a port") {
    CHECK(Peer::parse("192.0.2.7:18515").to_string() == "192.0.2.7:18515");
    CHECK(Peer::parse("[2001:db8::7]:1").to_string() == "[2001:db8::7]:1");
    CHECK(Peer::parse("node-2.example:1").to_string() == "node-2.example:1");
    for (const char* wrong : {"", "192.0.2.7", "192.0.2.7:", "192.0.2.7:0", "192.0.2.7:65536", ":1", "[node]:1",
                              "no de:1", "node", "2001:db8::7:1", "[]:1"}) {
        INFO(wrong);
        CHECK_THROWS_WITH(Peer::parse(wrong),
                          Contains("--peer") && Contains("HOST:PORT") && Contains("192.0.2.7:18515"));
    }
}
