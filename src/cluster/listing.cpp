#include "listing.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <utility>
#include <variant>

namespace rdmanet::cluster {
namespace {

constexpr unsigned kGone = 410; // the snapshot that the pages come from was compacted
constexpr int kMostBeginnings = 4;

/// What a page answers to "continue" may have characters that mean something in a query (RFC 3986, section 3.4).
std::string encoded(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
                              c == '_' || c == '.' || c == '~';
        if (is_plain)
            out.push_back(c);
        else
            out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
    return out;
}

} // namespace

void refuse_read(const kube::Api& api, const kube::Refused& refused) {
    using ipam::StoreError;
    using kube::Refusal;
    const bool is_temporary =
        refused.why == Refusal::too_many || refused.why == Refusal::unavailable || refused.status == kGone;
    std::string cure;
    if (refused.why == Refusal::forbidden)
        cure = fmt::format(": give --kubeconfig with a user who may do that{}{}",
                           api.access().user.empty() ? "" : ", or grant it to ", api.access().user);
    if (refused.why == Refusal::unauthorized) cure = ": renew the token or certificate in the kubeconfig";
    throw StoreError(is_temporary ? StoreError::Kind::temporary : StoreError::Kind::permanent,
                     fmt::format("{}{}", refused.message, cure));
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

bool for_each_listed(kube::Api& api, const Listing& listing, const base::Deadline& deadline,
                     const std::function<void()>& begin, const std::function<void(const json::Reader&)>& act) try {
    const std::string first = fmt::format("{}{}limit={}", listing.path,
                                          listing.path.find('?') == std::string::npos ? '?' : '&', listing.page);
    std::string next = first;
    for (int beginnings = 0;;) {
        if (next == first) {
            begin();
            ++beginnings;
        }
        const kube::Outcome outcome = api.get(next, deadline, listing.shape);
        if (const auto* refused = std::get_if<kube::Refused>(&outcome)) {
            if (refused->why == kube::Refusal::not_found) return false;
            if (refused->status != kGone || beginnings == kMostBeginnings) refuse_read(api, *refused);
            next = first;
            continue;
        }
        const json::Reader list = std::get<kube::Object>(outcome).content.root();
        if (const auto items = list.find("items")) // null in an empty list of metadata
            for (const json::Reader& object : items->elements()) act(object);
        const auto more = list.at("metadata").find("continue");
        if (!more || more->string().empty()) return true;
        next = fmt::format("{}&continue={}", first, encoded(more->string()));
    }
} catch (const http::TransportError& error) {
    throw ipam::StoreError(ipam::StoreError::Kind::temporary, error.what());
} catch (const json::ValueError& error) {
    throw ipam::StoreError(ipam::StoreError::Kind::permanent, fmt::format("{}: {}", listing.path, error.what()));
}

} // namespace rdmanet::cluster
