// TLS against OpenSSL's own server, with certificates made for the purpose.
#include <rdmanet/http/client.hpp>

#include "support/directory.hpp"

#include <catch2/catch.hpp>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

using namespace rdmanet;
using namespace rdmanet::http;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

/// Two authorities; of the first a server's and a client's certificate.
struct Keys : rdmanet::test::Directory {
    Keys() {
        const std::string script = "set -e; cd " + path() + R"(
            key() { openssl ecparam -name prime256v1 -genkey -noout -out $1.key; }
            sign() { # NAME KEY AUTHORITY ITS-KEY DAYS [EXTENSION]
                openssl req -new -key $2.key -subj /CN=$1 | openssl x509 -req -CA $3.crt -CAkey $4.key \
                    -CAcreateserial -days $5 -out $1.crt ${6+-extfile <(echo $6)}
            }
            ip=subjectAltName=IP:127.0.0.1
            for ca in ca other; do key $ca; openssl req -x509 -new -key $ca.key -days 2 -subj /CN=$ca -out $ca.crt; done
            for name in server client; do key $name; sign $name $name ca ca 2 $ip,DNS:api.example; done
            sign middle other ca ca 2 basicConstraints=CA:TRUE
            sign below server middle other 2 $ip
            sign expired server ca ca 0 $ip
            openssl req -new -key server.key -subj /CN=api.example |
                openssl x509 -req -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out nameless.crt
            echo -n hello >page)";
        if (std::system(("bash -c '" + script + "' 2>" + file("log")).c_str()) != 0)
            throw std::runtime_error("openssl could not make certificates");
    }
    [[nodiscard]] std::string read(const std::string& name) const {
        std::ifstream stream(file(name));
        return {std::istreambuf_iterator<char>(stream), {}};
    }
};

/// `openssl s_server`, which serves files.
class TlsServer {
public:
    TlsServer(const Keys& keys, const std::string& options) {
        // It says "ACCEPT 127.0.0.1:PORT" when it listens.
        const std::string log = keys.path() + "/server.log";
        std::filesystem::remove(log);
        const std::string command = "cd " + keys.path() +
                                    " && exec openssl s_server -accept 127.0.0.1:0 -cert server.crt -key server.key "
                                    "-WWW " +
                                    options + " >" + log + " 2>&1 </dev/null";
        const char* arguments[] = {"sh", "-c", command.c_str(), nullptr};
        if (::posix_spawn(&pid_, "/bin/sh", nullptr, nullptr, const_cast<char**>(arguments), environ) != 0)
            throw std::runtime_error("sh");
        for (const auto end = base::Deadline::in(120s); port_.empty();) {
            std::ifstream file(log);
            const std::string text{std::istreambuf_iterator<char>(file), {}};
            const auto at = text.find("ACCEPT 127.0.0.1:");
            if (at != std::string::npos && text.find('\n', at) != std::string::npos)
                port_ = text.substr(at + 17, text.find('\n', at) - at - 17);
            if (end.passed()) throw std::runtime_error("openssl s_server: " + text);
        }
    }
    TlsServer(const TlsServer&) = delete;
    TlsServer& operator=(const TlsServer&) = delete;
    ~TlsServer() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    [[nodiscard]] std::string url(const std::string& host = "127.0.0.1") const {
        return "https://" + host + ":" + port_;
    }

private:
    pid_t pid_ = 0;
    std::string port_;
};

/// The answer, or what went wrong.
std::string ask(const std::string& url, const TlsSettings& settings) try {
    Client client(Url::parse(url), settings, {.connect = 60s, .request = 60s});
    return client.ask({.method = "GET", .target = "/page"}, base::Deadline::in(60s)).body;
} catch (const base::Error& error) {
    return error.what();
}

} // namespace

TEST_CASE("a server is who its certificate says, and the authority is the configured one") {
    const Keys keys;
    const TlsServer server(keys, "");
    const std::string ca = keys.read("ca.crt");
    CHECK(ask(server.url(), {.authorities = ca}) == "hello");
    CHECK(ask(server.url(), {.authorities = keys.read("other.crt") + ca}) == "hello");
    CHECK(ask(server.url(), {.authorities = ca, .server_name = "api.example"}) == "hello");
    CHECK(ask(server.url(), {.verify = Verify::nobody}) == "hello");
    CHECK_THAT(ask(server.url(), {.authorities = keys.read("other.crt")}),
               Contains(server.url() + ": TLS: the server's certificate is refused: "));
    CHECK_THAT(ask(server.url(), {}), Contains("TLS: the server's certificate is refused: "));
    CHECK_THAT(ask(server.url("localhost"), {.authorities = ca}), Contains("refused: hostname mismatch"));
    CHECK_THAT(ask(server.url(), {.authorities = ca, .server_name = "10.0.0.1"}),
               Contains("refused: IP address mismatch"));
}

TEST_CASE("certificates count as in Go: an authority below another may be trusted alone, and a subject is no name") {
    const Keys keys;
    const TlsServer below(keys, "-cert below.crt");
    CHECK(ask(below.url(), {.authorities = keys.read("middle.crt")}) == "hello");
    const TlsServer nameless(keys, "-cert nameless.crt");
    CHECK_THAT(ask(nameless.url(), {.authorities = keys.read("ca.crt"), .server_name = "api.example"}),
               Contains("refused: hostname mismatch"));
}

TEST_CASE("a server's certificate that has expired is refused") {
    const Keys keys;
    const TlsServer expired(keys, "-cert expired.crt");
    CHECK_THAT(ask(expired.url(), {.authorities = keys.read("ca.crt")}),
               Contains("TLS: the server's certificate is refused: certificate has expired"));
    CHECK(ask(expired.url(), {.verify = Verify::nobody}) == "hello");
}

TEST_CASE("a client is who its certificate says") {
    const Keys keys;
    const TlsServer server(keys, "-CAfile ca.crt -Verify 1 -verify_return_error");
    TlsSettings settings{.authorities = keys.read("ca.crt"),
                         .certificate = keys.read("client.crt") + keys.read("ca.crt"),
                         .key = keys.read("client.key")};
    CHECK(ask(server.url(), settings) == "hello");
    CHECK_THAT(ask(server.url(), {.authorities = settings.authorities}), Contains("TLS: "));
}

TEST_CASE("nothing older than TLS 1.2 is spoken") {
    const Keys keys;
    const TlsServer modern(keys, "-tls1_2");
    CHECK(ask(modern.url(), {.authorities = keys.read("ca.crt")}) == "hello");
    const TlsServer old(keys, "-tls1_1 -cipher ALL:@SECLEVEL=0");
    CHECK_THAT(ask(old.url(), {.authorities = keys.read("ca.crt")}), Contains("TLS: "));
}

TEST_CASE("certificates and keys that can't be read are refused without their content") {
    const Keys keys;
    const std::string ca = keys.read("ca.crt");
    const auto why = [&](const TlsSettings& settings) { return ask("https://127.0.0.1:1", settings); };
    CHECK_THAT(why({.authorities = "secret"}), Contains("the certificate of the authority cannot be read"));
    CHECK_THAT(why({.authorities = ca, .certificate = "secret", .key = "secret"}),
               Contains("the client certificate cannot be read"));
    CHECK_THAT(why({.authorities = ca, .certificate = keys.read("client.crt"), .key = "secret"}),
               Contains("the client key cannot be read") && !Contains("secret"));
    CHECK_THAT(why({.authorities = ca, .certificate = keys.read("client.crt"), .key = keys.read("server.key")}),
               Contains("the client key does not fit the client certificate"));
}
