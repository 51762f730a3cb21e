// Writes that name what they expect to find, and what became of them.
#pragma once

#include <rdmanet/json/writer.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace rdmanet::cluster {

/// A JSON patch (RFC 6902): tests and changes, one after the other.
class Changes {
public:
    Changes() { writer_.begin_array(); }
    Changes& test(std::string_view path, std::string_view value) { return add("test", path, value); }
    /// Sets the member, whether it is there or not.
    Changes& set(std::string_view path, std::string_view value) { return add("add", path, value); }
    Changes& remove(std::string_view path) {
        writer_.begin_object().member("op", "remove").member("path", path).end_object();
        return *this;
    }
    [[nodiscard]] std::string to_text() { return writer_.end_array().to_text(); }

private:
    Changes& add(std::string_view operation, std::string_view path, std::string_view value) {
        writer_.begin_object().member("op", operation).member("path", path).key("value").raw(value).end_object();
        return *this;
    }
    json::Writer writer_;
};

/// What became of a conditional write.
struct WriteOutcome {
    enum class Done : std::uint8_t {
        yes,
        no,      // what it expected is not there
        unknown, // no answer, or the server gave up: it may apply, now or later
    };
    Done done = Done::no;
    std::string version{}; // of the object, if it was written
    std::string uid{};
    std::string trouble{}; // what the server said, or why the outcome is not known
};

} // namespace rdmanet::cluster
