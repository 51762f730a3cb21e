#include <rdmanet/json/writer.hpp>

#include <rdmanet/base/format.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace rdmanet::json {
namespace {

/// RFC 8259, section 7. What is not ASCII may be no UTF-8, so it is left to the library.
bool stands_for_itself(char letter) {
    return letter >= ' ' && letter <= '\x7e' && letter != '"' && letter != '\\';
}

} // namespace

void Writer::new_line() {
    if (layout_ == Layout::compact) return;
    text_.push_back('\n');
    text_.append(std::size_t{depth_} * 4, ' ');
}

void Writer::before_value() {
    if (after_key_) {
        after_key_ = false;
        return;
    }
    if (depth_ == 0) return;
    if (!first_) text_.push_back(',');
    first_ = false;
    new_line();
}

void Writer::begin(char bracket) {
    before_value();
    text_.push_back(bracket);
    ++depth_;
    first_ = true;
}

void Writer::end(char bracket) {
    --depth_;
    if (!first_) new_line();
    first_ = false;
    text_.push_back(bracket);
}

Writer& Writer::begin_object() {
    begin('{');
    return *this;
}

Writer& Writer::end_object() {
    end('}');
    return *this;
}

Writer& Writer::begin_array() {
    begin('[');
    return *this;
}

Writer& Writer::end_array() {
    end(']');
    return *this;
}

Writer& Writer::key(std::string_view name) {
    value(name);
    text_.append(layout_ == Layout::compact ? ":" : ": ");
    after_key_ = true;
    return *this;
}

/// Most texts have nothing to escape, and are copied. The library takes five times the instructions: it makes a value,
/// an output and a buffer of 512 bytes for each text.
Writer& Writer::value(std::string_view text) {
    if (!std::all_of(text.begin(), text.end(), stands_for_itself))
        return raw(nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    before_value();
    text_.push_back('"');
    text_.append(text);
    text_.push_back('"');
    return *this;
}

Writer& Writer::value(std::int64_t number) {
    return raw(fmt::format("{}", number));
}
Writer& Writer::value(std::uint64_t number) {
    return raw(fmt::format("{}", number));
}
Writer& Writer::value(bool flag) {
    return raw(flag ? "true" : "false");
}

Writer& Writer::value(const std::vector<std::string>& texts) {
    begin_array();
    for (const std::string& text : texts) value(text);
    return end_array();
}

Writer& Writer::raw(std::string_view json) {
    before_value();
    text_.append(json);
    return *this;
}

} // namespace rdmanet::json
