// Lists of objects in the Kubernetes API, in pages.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/kube/api.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmanet::cluster {

struct Listing {
    std::string path; // with a query or without
    int page = 500;   // objects in one answer
    kube::Shape shape = kube::Shape::whole;
};

/// As a part of a request's target: everything but unreserved characters by its number (RFC 3986, section 2).
[[nodiscard]] std::string percent_encoded(std::string_view text);

/// Throws ipam::StoreError with what the server has refused, and with the fix.
[[noreturn]] void refuse_read(const kube::Api& api, const kube::Refused& refused);

/// One object. nullopt if there is none. Throws ipam::StoreError.
[[nodiscard]] std::optional<kube::Object> find_object(kube::Api& api, const std::string& path,
                                                      const base::Deadline& deadline);

/// How a page is asked for, and what becomes of a refusal: an exception.
struct Reading {
    std::function<kube::Outcome(const std::string& path)> get;
    std::function<void(const kube::Refused&)> refuse;
};

/// Calls `act` for each object, or for each row of a table. If the server forgets where a page ended (410), the list
/// begins anew: `begin` is called before each beginning. False if the server does not know the kind. Throws
/// ipam::StoreError.
[[nodiscard]] bool for_each_listed(const Reading& reading, const Listing& listing, const std::function<void()>& begin,
                                   const std::function<void(const json::Reader&)>& act);
[[nodiscard]] bool for_each_listed(kube::Api& api, const Listing& listing, const base::Deadline& deadline,
                                   const std::function<void()>& begin,
                                   const std::function<void(const json::Reader&)>& act);

/// Runs `ask`, and throws ipam::StoreError where it gets no answer.
template <class Ask>
auto asking(Ask ask) {
    try {
        return ask();
    } catch (const http::TransportError& error) {
        throw ipam::StoreError(ipam::StoreError::Kind::temporary, error.what());
    }
}

/// All of them, parsed.
template <class Parse>
auto list_parsed(kube::Api& api, const Listing& listing, const base::Deadline& deadline, Parse parse)
    -> std::optional<std::vector<decltype(parse(std::declval<const json::Reader&>()))>> {
    std::vector<decltype(parse(std::declval<const json::Reader&>()))> all;
    const bool is_known = for_each_listed(
        api, listing, deadline, [&] { all.clear(); },
        [&](const json::Reader& object) { all.push_back(parse(object)); });
    if (!is_known) return std::nullopt;
    return all;
}

} // namespace rdmanet::cluster
