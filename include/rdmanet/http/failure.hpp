// Why there is no answer to a request.
#pragma once

#include <rdmanet/base/error.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace rdmanet::http {

enum class Stage : std::uint8_t { dns, tcp, tls, http };

enum class Cause : std::uint8_t {
    other,
    silence,    // nothing came until the time was over
    end,        // the other side ended the connection
    end_unsent, // it had ended it before a byte was sent
};

/// No answer, or none that is HTTP.
class TransportError : public base::Error {
public:
    /// Whether the server may have done what was asked: a byte of the request may have reached it.
    enum class Outcome : std::uint8_t { not_sent, unknown };

    TransportError(Stage stage, Outcome outcome, std::string message, Cause cause = Cause::other)
        : Error(std::move(message)), stage_(stage), outcome_(outcome), cause_(cause) {}

    [[nodiscard]] Stage stage() const noexcept { return stage_; }
    [[nodiscard]] bool may_have_been_done() const noexcept { return outcome_ == Outcome::unknown; }
    /// The server has said nothing for as long as the limits allow. Asking again would most likely take as long.
    [[nodiscard]] bool was_silent() const noexcept { return cause_ == Cause::silence; }
    /// The other side ended the connection, as servers do, and what stands before them, when they end or begin.
    [[nodiscard]] bool was_cut() const noexcept { return cause_ == Cause::end || cause_ == Cause::end_unsent; }

private:
    Stage stage_;
    Outcome outcome_;
    Cause cause_;
};

} // namespace rdmanet::http
