// Boost.Beast's parser of an HTTP answer behind a plain interface: its headers take many seconds to compile.
#pragma once

#include <rdmanet/http/client.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace rdmanet::http {

class Answer {
public:
    /// `most_bytes` with all that HTTP puts around the body.
    explicit Answer(std::size_t most_bytes);
    ~Answer();

    /// Takes the next bytes of the connection. Throws Failure for what is no HTTP, or is too long.
    void take(std::string_view bytes);
    /// The connection has ended: the answer as well, if its length was not said before.
    void take_end();

    [[nodiscard]] bool is_begun() const;
    [[nodiscard]] bool is_whole() const;
    [[nodiscard]] bool keeps_connection() const;
    [[nodiscard]] Response response();

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rdmanet::http
