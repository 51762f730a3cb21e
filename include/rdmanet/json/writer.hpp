// Writing JSON in the order of the calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::json {

/// Spread over lines with four spaces per level (as the Go CNI plugins print), or compact.
enum class Layout : std::uint8_t { compact, indented };

/// Calls must nest as the document does. to_text() is valid once every begin has its end.
class Writer {
public:
    explicit Writer(Layout layout = Layout::compact) : layout_(layout) {}

    Writer& begin_object();
    Writer& end_object();
    Writer& begin_array();
    Writer& end_array();
    Writer& key(std::string_view name);

    /// Bytes that are not UTF-8 become U+FFFD, so that the output is always valid JSON.
    Writer& value(std::string_view text);
    Writer& value(const char* text) { return value(std::string_view(text)); }
    Writer& value(std::int64_t number);
    Writer& value(std::uint64_t number);
    Writer& value(std::int32_t number) { return value(std::int64_t{number}); }
    Writer& value(std::uint32_t number) { return value(std::uint64_t{number}); }
    Writer& value(bool flag);
    Writer& value(const std::vector<std::string>& texts);
    /// `json` is a JSON text and is copied as it is.
    Writer& raw(std::string_view json);

    template <class T>
    Writer& member(std::string_view name, const T& content) {
        return key(name).value(content);
    }

    [[nodiscard]] const std::string& to_text() const { return text_; }

private:
    void before_value();
    void new_line();
    void begin(char bracket);
    void end(char bracket);

    std::string text_;
    Layout layout_;
    unsigned depth_ = 0;
    bool first_ = true; // the innermost object or array is still empty
    bool after_key_ = false;
};

} // namespace rdmanet::json
