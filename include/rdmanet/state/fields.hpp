// One list of fields says how a value of the journal is written and how it is read.
//
// A type of the journal has a member fields(Fields&), or a function fields(Fields&, Type&), with one call for each of
// its fields. The rules of the format:
// - A name is never used again for something else.
// - A reader ignores fields that it does not know. So a new field is optional for ever.
// - 64-bit numbers (inodes, cookies, node GUIDs) are text, because other JSON readers round numbers above 2^53.
#pragma once

#include <rdmanet/base/text.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

namespace rdmanet::state {

/// Writes the members of an object, or reads them. Reading throws json::ValueError for a missing member and for one of
/// another type or range.
class Fields {
public:
    explicit Fields(json::Writer& to) : to_(&to) {}
    explicit Fields(const json::Reader& from) : from_(&from) {}

    /// A field that is always there.
    template <class Value>
    Fields& operator()(std::string_view key, Value& value) {
        if (to_ != nullptr)
            write(to_->key(key), value);
        else
            read(from_->at(key), value);
        return *this;
    }

    /// A field that is left out while it says nothing: no value, an empty text or list, false, 0.
    template <class Value>
    Fields& optional(std::string_view key, Value& value) {
        if (to_ != nullptr) {
            if (!says_nothing(value)) write(to_->key(key), value);
        } else if (const auto found = from_->find(key)) {
            read(*found, value);
        }
        return *this;
    }

    [[nodiscard]] json::Writer* writer() const { return to_; }
    [[nodiscard]] const json::Reader* reader() const { return from_; }

    template <class Value>
    static void write(json::Writer& to, Value& value) {
        if constexpr (std::is_same_v<Value, std::string> || std::is_same_v<Value, bool>) {
            to.value(value);
        } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
            to.value(std::to_string(value));
        } else if constexpr (std::is_integral_v<Value>) {
            to.value(std::int64_t{value});
        } else if constexpr (std::is_enum_v<Value>) {
            to.value(to_string(value));
        } else if constexpr (requires { value.has_value(); }) {
            write(to, *value);
        } else if constexpr (requires { value.to_string(); }) {
            to.value(value.to_string());
        } else if constexpr (requires { typename Value::mapped_type; }) {
            to.begin_object();
            for (auto& [key, each] : value) write(to.key(key), each);
            to.end_object();
        } else if constexpr (requires { value.push_back(value.front()); }) {
            to.begin_array();
            for (auto& each : value) write(to, each);
            to.end_array();
        } else {
            to.begin_object();
            Fields fields(to);
            list_fields(fields, value);
            to.end_object();
        }
    }

    template <class Value>
    static void read(const json::Reader& from, Value& value) {
        if constexpr (std::is_same_v<Value, std::string>) {
            value = from.string();
        } else if constexpr (std::is_same_v<Value, bool>) {
            value = from.boolean();
        } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
            const std::string text = from.string();
            const auto number = base::parse_integer<std::uint64_t>(text);
            if (!number || std::to_string(*number) != text)
                throw from.unexpected("a decimal number in quotes, without leading zeros");
            value = *number;
        } else if constexpr (std::is_integral_v<Value>) {
            value = static_cast<Value>(from.integer(0, std::numeric_limits<Value>::max()));
        } else if constexpr (std::is_enum_v<Value>) {
            value = read_enumerator(from, value);
        } else if constexpr (requires { Value::value_type::parse(std::string_view())->to_string(); }) {
            value = Value::value_type::parse(from.string());
            if (!value) throw from.unexpected("a MAC address or a GUID");
        } else if constexpr (requires { value.has_value(); }) {
            read(from, value.emplace());
        } else if constexpr (requires { typename Value::mapped_type; }) {
            for (const auto& [key, each] : from.members()) read(each, value[key]);
        } else if constexpr (requires { value.push_back(value.front()); }) {
            for (const json::Reader& each : from.elements()) read(each, value.emplace_back());
        } else {
            from.expect_object();
            Fields fields(from);
            list_fields(fields, value);
        }
    }

private:
    template <class Value>
    static bool says_nothing(const Value& value) {
        if constexpr (requires { value.has_value(); })
            return !value.has_value();
        else if constexpr (requires { value.empty(); })
            return value.empty();
        else
            return value == Value{};
    }

    template <class Value>
    static void list_fields(Fields& list, Value& value) {
        if constexpr (requires { value.fields(list); })
            value.fields(list);
        else
            fields(list, value);
    }

    template <class Enum>
    static Enum read_enumerator(const json::Reader& from, Enum /*type*/) {
        for (const Enum each : enumerators(Enum{}))
            if (from.string() == to_string(each)) return each;
        const auto quote = [](Enum each) { return base::quoted(to_string(each)); };
        throw from.unexpected("one of " + base::join(enumerators(Enum{}), ", ", quote));
    }

    json::Writer* to_ = nullptr;
    const json::Reader* from_ = nullptr;
};

} // namespace rdmanet::state
