// The product may only refuse input with one of its own errors, for which the runtime gets a JSON document.
#pragma once

#include "demand.hpp"

#include <rdmanet/cni/error.hpp>
#include <rdmanet/json/reader.hpp>

#include <optional>

namespace rdmanet::fuzz {

inline void demand_document(int code, const std::string& message, const std::string& details) {
    const std::string text = cni::format_error("1.1.0", code, message, details);
    const json::Document document = json::Document::parse(text);
    demand(document.root().at("code").integer(0, 999) == code, "the error document has another code");
    demand(!document.root().at("msg").string().empty(), "the error says nothing");
}

/// The result of `read`, or nothing if it refuses. Any other exception ends the process.
template <class Read>
auto unless_refused(Read read) -> std::optional<decltype(read())> {
    try {
        return read();
    } catch (const cni::CniError& error) {
        demand_document(error.code(), error.what(), error.details());
    } catch (const json::ParseError& error) {
        demand_document(static_cast<int>(cni::ErrorCode::undecodable), error.what(), {});
    } catch (const json::ValueError& error) {
        demand_document(static_cast<int>(cni::ErrorCode::invalid_network_config), error.what(), {});
    }
    return std::nullopt;
}

/// Nothing if it is not JSON. The document of that error takes longer than all that most targets read.
inline std::optional<json::Document> parse_document(std::string_view text) try {
    return json::Document::parse(text);
} catch (const json::ParseError&) {
    return std::nullopt;
}

} // namespace rdmanet::fuzz
