#include "listing.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <utility>
#include <variant>

namespace rdmanet::cluster {
namespace {

constexpr int kMostBeginnings = 4;

} // namespace

std::string percent_encoded(std::string_view text) {
    std::string target;
    for (const char c : text) {
        const bool is_alphanumeric = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (is_alphanumeric || c == '-' || c == '.' || c == '_' || c == '~')
            target += c;
        else
            target += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return target;
}

void refuse_read(const kube::Api& api, const kube::Refused& refused) {
    using ipam::StoreError;
    using kube::Refusal;
    std::string fix;
    if (refused.why == Refusal::forbidden)
        fix = fmt::format(": give --kubeconfig with a user who may do that{}{}",
                          api.access().user.empty() ? "" : ", or grant it to ", api.access().user);
    if (refused.why == Refusal::unauthorized) fix = ": renew the token or certificate in the kubeconfig";
    throw StoreError(refused.is_temporary() ? StoreError::Kind::temporary : StoreError::Kind::permanent,
                     fmt::format("{}{}", refused.message, fix));
}

std::optional<kube::Object> find_object(kube::Api& api, const std::string& path, const base::Deadline& deadline) try {
    kube::Outcome outcome = api.get(path, deadline);
    if (auto* object = std::get_if<kube::Object>(&outcome)) return std::move(*object);
    const auto& refused = std::get<kube::Refused>(outcome);
    if (refused.why != kube::Refusal::not_found) refuse_read(api, refused);
    return std::nullopt;
} catch (const http::TransportError& error) {
    throw ipam::StoreError(ipam::StoreError::Kind::temporary, error.what());
}

bool for_each_listed(const Reading& reading, const Listing& listing, const std::function<void()>& begin,
                     const std::function<void(const json::Reader&)>& act) {
    const std::string first = fmt::format("{}{}limit={}", listing.path,
                                          listing.path.find('?') == std::string::npos ? '?' : '&', listing.page);
    std::string next = first;
    for (int beginnings = 0;;) {
        if (next == first) {
            begin();
            ++beginnings;
        }
        const kube::Outcome outcome = reading.get(next);
        if (const auto* refused = std::get_if<kube::Refused>(&outcome)) {
            if (refused->why == kube::Refusal::not_found) return false;
            if (refused->status != kube::kExpired || beginnings == kMostBeginnings) reading.refuse(*refused);
            next = first;
            continue;
        }
        const json::Reader list = std::get<kube::Object>(outcome).content.root();
        // "items" is null in an empty list of metadata.
        if (const auto items = list.find(listing.shape == kube::Shape::table ? "rows" : "items"))
            for (const json::Reader& object : items->elements()) act(object);
        const auto more = list.at("metadata").find("continue");
        if (!more || more->string().empty()) return true;
        next = fmt::format("{}&continue={}", first, percent_encoded(more->string()));
    }
}

bool for_each_listed(kube::Api& api, const Listing& listing, const base::Deadline& deadline,
                     const std::function<void()>& begin, const std::function<void(const json::Reader&)>& act) try {
    return for_each_listed({.get = [&](const std::string& path) { return api.get(path, deadline, listing.shape); },
                            .refuse = [&](const kube::Refused& refused) { refuse_read(api, refused); }},
                           listing, begin, act);
} catch (const http::TransportError& error) {
    throw ipam::StoreError(ipam::StoreError::Kind::temporary, error.what());
} catch (const json::ValueError& error) {
    throw ipam::StoreError(ipam::StoreError::Kind::permanent, fmt::format("{}: {}", listing.path, error.what()));
}

} // namespace rdmanet::cluster
