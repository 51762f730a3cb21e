#include <rdmanet/podresources/client.hpp>

#include "answers.hpp"
#include "connection.hpp"
#include "protobuf.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/late_start.hpp>
#include <rdmanet/base/text.hpp>

#include <nghttp2/nghttp2.h>

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>

namespace rdmanet::podresources {
namespace {

// One call of gRPC without a request's content (grpc, doc/PROTOCOL-HTTP2.md), over a Unix socket.

constexpr std::size_t kMostBytes = 16U << 20U;
/// Before each message: one byte that says whether it is compressed, and four of its length, big-endian.
constexpr std::size_t kPrefix = 5;

/// What the callbacks of the session have seen of the answer.
struct Answer {
    std::string body;
    std::string http_status;
    std::string status; // of gRPC, in the trailers; 0 is success
    std::string message;
    std::optional<std::uint32_t> closed; // the stream, with this error code of HTTP/2
    bool is_too_large = false;
    std::size_t request_sent = 0;
};

int on_header(nghttp2_session* /*session*/, const nghttp2_frame* /*frame*/, const std::uint8_t* name,
              std::size_t length, const std::uint8_t* value, std::size_t value_length, std::uint8_t /*flags*/,
              void* user) noexcept try {
    auto& answer = *static_cast<Answer*>(user);
    const std::string_view key(reinterpret_cast<const char*>(name), length);
    const std::string_view text(reinterpret_cast<const char*>(value), value_length);
    if (key == ":status") answer.http_status = text;
    if (key == "grpc-status") answer.status = text;
    if (key == "grpc-message") answer.message = text;
    return 0;
} catch (const std::exception&) { // out of memory
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

int on_data(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t /*stream*/, const std::uint8_t* data,
            std::size_t length, void* user) noexcept try {
    auto& answer = *static_cast<Answer*>(user);
    answer.is_too_large = answer.body.size() + length > kPrefix + kMostBytes;
    if (answer.is_too_large) return NGHTTP2_ERR_CALLBACK_FAILURE;
    answer.body.append(reinterpret_cast<const char*>(data), length);
    return 0;
} catch (const std::exception&) { // out of memory
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

int on_close(nghttp2_session* /*session*/, std::int32_t /*stream*/, std::uint32_t code, void* user) noexcept {
    static_cast<Answer*>(user)->closed = code;
    return 0;
}

/// The request is a message without fields: only the prefix, all zeros.
ssize_t give_request(nghttp2_session* /*session*/, std::int32_t /*stream*/, std::uint8_t* buffer, std::size_t length,
                     std::uint32_t* flags, nghttp2_data_source* /*source*/, void* user) noexcept {
    auto& answer = *static_cast<Answer*>(user);
    const std::size_t count = std::min(length, kPrefix - answer.request_sent);
    std::memset(buffer, 0, count);
    answer.request_sent += count;
    if (answer.request_sent == kPrefix) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
}

template <auto Free>
struct Deleter {
    template <class T>
    void operator()(T* pointer) const noexcept {
        Free(pointer);
    }
};
using Session = std::unique_ptr<nghttp2_session, Deleter<nghttp2_session_del>>;
using Callbacks = std::unique_ptr<nghttp2_session_callbacks, Deleter<nghttp2_session_callbacks_del>>;

void require(int result) {
    if (result != 0) throw CallError(nghttp2_strerror(result));
}

Session make_session(Answer& answer) {
    nghttp2_session_callbacks* made = nullptr;
    require(nghttp2_session_callbacks_new(&made));
    const Callbacks callbacks(made);
    nghttp2_session_callbacks_set_on_header_callback(made, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(made, on_close);
    nghttp2_session* session = nullptr;
    require(nghttp2_session_client_new(&session, made, &answer));
    return Session(session);
}

nghttp2_nv header(std::string_view name, std::string_view value) {
    const auto bytes = [](std::string_view text) { // nghttp2 copies them
        return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
    };
    return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

void submit(nghttp2_session* session, std::string_view method) {
    require(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, nullptr, 0));
    const std::array headers{header(":method", "POST"),
                             header(":scheme", "http"),
                             header(":path", method),
                             header(":authority", "localhost"),
                             header("content-type", "application/grpc"),
                             header("te", "trailers"),
                             header("user-agent", "rdmanet")};
    nghttp2_data_provider provider{};
    provider.read_callback = give_request;
    const std::int32_t stream =
        nghttp2_submit_request(session, nullptr, headers.data(), headers.size(), &provider, nullptr);
    if (stream < 0) require(stream);
}

/// Sends what the session has to send.
void send_all(nghttp2_session* session, const Connection& connection) {
    for (;;) {
        const std::uint8_t* bytes = nullptr;
        const ssize_t length = nghttp2_session_mem_send(session, &bytes);
        if (length < 0) require(static_cast<int>(length));
        if (length == 0) return;
        connection.send({bytes, static_cast<std::size_t>(length)});
    }
}

/// Gives the session what has come.
void receive_some(nghttp2_session* session, const Connection& connection) {
    constexpr std::size_t kPiece = 16U << 10U;
    std::array<std::uint8_t, kPiece> bytes{};
    const std::size_t count = connection.receive(bytes);
    if (count == 0) throw CallError("the connection ended before the answer");
    const ssize_t taken = nghttp2_session_mem_recv(session, bytes.data(), count);
    if (taken < 0) require(static_cast<int>(taken));
}

std::string message_of(const Answer& answer) {
    if (answer.http_status != "200")
        throw CallError(fmt::format("HTTP status {}: expected a gRPC server", base::quoted(answer.http_status)));
    if (answer.status != "0")
        throw CallError(fmt::format("gRPC status {}: {}", answer.status.empty() ? "missing" : answer.status,
                                    base::quoted(answer.message)));
    if (*answer.closed != NGHTTP2_NO_ERROR)
        throw CallError(fmt::format("the stream ended with {}", nghttp2_http2_strerror(*answer.closed)));
    if (answer.body.size() < kPrefix || answer.body.front() != 0)
        throw CallError("expected one message that is not compressed");
    std::size_t length = 0;
    for (std::size_t at = 1; at < kPrefix; ++at) length = length << 8U | static_cast<unsigned char>(answer.body[at]);
    if (length != answer.body.size() - kPrefix)
        throw CallError(
            fmt::format("a message of {} bytes is announced, and {} came", length, answer.body.size() - kPrefix));
    return answer.body.substr(kPrefix);
}

/// The answer's message, of 16 MiB at most: as much as Multus takes. Throws CallError.
std::string call(const std::string& socket, std::string_view method, const base::Deadline& deadline) {
    base::start_late_parts(); // nghttp2's
    Answer answer;
    try {
        const Connection connection(socket, deadline);
        const Session session = make_session(answer);
        submit(session.get(), method);
        while (!answer.closed) {
            send_all(session.get(), connection);
            receive_some(session.get(), connection);
        }
        return message_of(answer);
    } catch (CallError& error) {
        if (answer.is_too_large)
            throw CallError(fmt::format("{}: {}: the answer has more than {} bytes", socket, method, kMostBytes));
        error.add_context(fmt::format("{}: {}", socket, method));
        throw;
    }
}

constexpr std::string_view kList = "/v1.PodResourcesLister/List";
constexpr std::string_view kGetAllocatable = "/v1.PodResourcesLister/GetAllocatableResources";

template <class Parse>
auto ask(const std::string& socket, std::string_view method, const base::Deadline& deadline, Parse parse) {
    const std::string answer = call(socket, method, deadline);
    try {
        return parse(answer);
    } catch (const MessageError& error) {
        throw CallError(fmt::format("{}: {}: the answer is not a message: {}", socket, method, error.what()));
    }
}

} // namespace

std::vector<Pod> list_pods(const std::string& socket, const base::Deadline& deadline) {
    return ask(socket, kList, deadline, parse_pods);
}

std::vector<Devices> list_allocatable(const std::string& socket, const base::Deadline& deadline) {
    return ask(socket, kGetAllocatable, deadline, parse_allocatable);
}

} // namespace rdmanet::podresources
