// Requests to a Kubernetes API server. What the server refuses is a value; only a server that gives no answer is an
// error.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/http/client.hpp>
#include <rdmanet/http/pause.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/kube/access.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace rdmanet::kube {

enum class Refusal : std::uint8_t {
    not_found,
    already_exists,
    conflict,     // a precondition of a DELETE
    invalid,      // a test of a JSON patch failed, or the object is not as its schema says
    forbidden,    // a right is missing; the message names it
    unauthorized, // the token or certificate says nobody that the server knows
    too_many,     // after retries
    too_large,    // the object does not fit
    unavailable,  // the server's own trouble
    other,
};

struct Refused {
    Refusal why = Refusal::other;
    unsigned status = 0;
    std::string message; // endpoint, request, status, the server's own words, and for how long it was tried
    /// The server gave up in the middle: what was asked for may have been done, or be done later.
    bool may_have_been_done = false;

    /// The same request may succeed later.
    [[nodiscard]] bool is_temporary() const;
};

/// A list whose pages come from a state of the objects that the server has forgotten (Kubernetes API concepts,
/// "Retrieving large results sets in chunks").
inline constexpr unsigned kExpired = 410;

struct Object {
    json::Document content;
    std::size_t size = 0;             // of its JSON
    std::optional<std::int64_t> date; // the server's clock
};

using Outcome = std::variant<Object, Refused>;

struct Preconditions {
    std::string uid;
    std::string resource_version; // empty: any
};

/// What of objects an answer has.
enum class Shape : std::uint8_t {
    whole,
    metadata, // PartialObjectMetadata
    table,    // what `kubectl get` prints: with "includeObject=None" in the query, rows of nothing but cells
};

class Api {
public:
    Api(Access access, http::Limits limits);

    /// `path`: "/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME". Bodies are JSON. Each throws
    /// http::TransportError. A server that is too busy is asked again, when it says so and within the deadline.
    [[nodiscard]] Outcome get(const std::string& path, const base::Deadline& deadline, Shape shape = Shape::whole);
    [[nodiscard]] Outcome create(const std::string& path, std::string body, const base::Deadline& deadline);
    /// JSON patch (RFC 6902). The answer has the object's metadata only, if it is not asked for more: pools are large.
    [[nodiscard]] Outcome patch(const std::string& path, std::string operations, const base::Deadline& deadline,
                                Shape shape = Shape::metadata);
    [[nodiscard]] Outcome remove(const std::string& path, const Preconditions& preconditions,
                                 const base::Deadline& deadline);

    [[nodiscard]] const Access& access() const { return access_; }

    [[nodiscard]] std::string server() const { return client_.url().to_string(); }

private:
    [[nodiscard]] Outcome ask(const http::Request& request, const base::Deadline& deadline);
    [[nodiscard]] json::Document parsed(const http::Request& request, const http::Response& response) const;
    [[nodiscard]] Refused refused(const http::Request& request, const http::Response& response,
                                  const http::Stopwatch& watch) const;

    Access access_;
    http::Client client_;
};

} // namespace rdmanet::kube
