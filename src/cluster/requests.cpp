#include "requests.hpp"

#include <rdmanet/base/format.hpp>

#include <algorithm>

namespace rdmanet::cluster {
namespace {

using ipam::StoreError;
using kube::Refusal;

constexpr int kMostBeginnings = 4; // of one list

} // namespace

std::string from(std::string path, From source) {
    if (source == From::etcd) return path;
    return fmt::format("{}{}resourceVersion=0", path, path.find('?') == std::string::npos ? '?' : '&');
}

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

std::string path_to(const std::string& path, const std::string& name) {
    return fmt::format("{}/{}", path, percent_encoded(name));
}

std::string quoted_json(std::string_view text) {
    return json::Writer().value(text).to_text();
}

void Requests::refuse(const kube::Refused& refused) const {
    std::string fix;
    if (refused.why == Refusal::not_found) fix = fmt::format(": {}", install_);
    if (refused.why == Refusal::forbidden)
        fix = fmt::format(": {}{}{}", grant_, api_.access().user.empty() ? "" : ", ", api_.access().user);
    if (refused.why == Refusal::unauthorized) fix = ": renew the token or certificate in the kubeconfig";
    if (refused.why == Refusal::too_large)
        fix = ": the pool is full; use several smaller ranges, or declare the range with an AddressRange";
    const auto kind = refused.is_temporary() ? StoreError::Kind::temporary : StoreError::Kind::permanent;
    const std::string text = fmt::format("lease store: {}{}", refused.message, fix);
    if (refused.why == Refusal::forbidden) throw MissingRight(kind, text);
    if (refused.why == Refusal::not_found) throw MissingKind(kind, text);
    throw StoreError(kind, text);
}

void Requests::refuse_kind(const std::string& path) const {
    throw MissingKind(StoreError::Kind::permanent,
                      fmt::format("lease store: the API server does not know {}: {}", path, install_));
}

void Requests::refuse_content(const std::string& path, const json::ValueError& error) {
    throw StoreError(StoreError::Kind::permanent, fmt::format("lease store: {}: {}", path, error.what()));
}

kube::Outcome Requests::answered(const std::function<kube::Outcome()>& ask) try {
    kube::Outcome outcome = ask();
    if (const auto* object = std::get_if<kube::Object>(&outcome)) date_ = object->date;
    return outcome;
} catch (const http::TransportError& error) {
    throw StoreError(StoreError::Kind::unreachable, fmt::format("lease store: {}", error.what()));
}

std::optional<kube::Object> Requests::find(const std::string& path, const base::Deadline& deadline) {
    kube::Outcome outcome = answered([&] { return api_.get(path, deadline); });
    if (auto* object = std::get_if<kube::Object>(&outcome)) return std::move(*object);
    const auto& refused = std::get<kube::Refused>(outcome);
    if (refused.why == Refusal::not_found) return std::nullopt;
    refuse(refused);
}

bool Requests::for_each(const Listing& listing, const base::Deadline& deadline, const std::function<void()>& begin,
                        const std::function<void(const json::Reader&)>& act) try {
    const std::string first = fmt::format("{}{}limit={}", listing.path,
                                          listing.path.find('?') == std::string::npos ? '?' : '&', listing.page);
    std::string next = first;
    for (int beginnings = 0;;) {
        if (next == first) {
            begin();
            ++beginnings;
        }
        const kube::Outcome outcome = answered([&] { return api_.get(next, deadline, listing.shape); });
        if (const auto* refused = std::get_if<kube::Refused>(&outcome)) {
            if (refused->why == Refusal::not_found) return false;
            if (refused->status != kube::kExpired || beginnings == kMostBeginnings) refuse(*refused);
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
} catch (const json::ValueError& error) {
    refuse_content(listing.path, error);
}

WriteOutcome Requests::write(const std::function<kube::Outcome()>& ask, std::initializer_list<Refusal> means_no) {
    try {
        const kube::Outcome outcome = ask();
        if (const auto* object = std::get_if<kube::Object>(&outcome)) {
            date_ = object->date;
            WriteOutcome written{.done = WriteOutcome::Done::yes};
            const auto metadata = object->content.root().find("metadata");
            if (!metadata) return written; // a Status: it is gone
            if (const auto version = metadata->find("resourceVersion")) written.version = version->string();
            if (const auto uid = metadata->find("uid")) written.uid = uid->string();
            return written;
        }
        const auto& refused = std::get<kube::Refused>(outcome);
        if (std::ranges::find(means_no, refused.why) != means_no.end())
            return {.done = WriteOutcome::Done::no, .trouble = refused.message};
        if (refused.may_have_been_done) return {.done = WriteOutcome::Done::unknown, .trouble = refused.message};
        refuse(refused);
    } catch (const http::TransportError& error) {
        if (error.may_have_been_done()) return {.done = WriteOutcome::Done::unknown, .trouble = error.what()};
        throw StoreError(StoreError::Kind::unreachable, fmt::format("lease store: {}", error.what()));
    }
}

WriteOutcome Requests::create(const std::string& path, std::string body, const base::Deadline& deadline) {
    return write([&] { return api_.create(path, std::move(body), deadline); }, {Refusal::already_exists});
}

kube::Object Requests::try_to_create(const std::string& path, std::string body, const base::Deadline& deadline) {
    kube::Outcome outcome = answered([&] { return api_.create(path + "?dryRun=All", std::move(body), deadline); });
    if (auto* object = std::get_if<kube::Object>(&outcome)) return std::move(*object);
    refuse(std::get<kube::Refused>(outcome));
}

WriteOutcome Requests::patch(const std::string& path, Changes changes, const base::Deadline& deadline) {
    return write([&] { return api_.patch(path, changes.to_text(), deadline); },
                 {Refusal::invalid, Refusal::not_found, Refusal::conflict});
}

WriteOutcome Requests::remove(const std::string& path, const kube::Preconditions& preconditions,
                              const base::Deadline& deadline) {
    return write([&] { return api_.remove(path, preconditions, deadline); }, {Refusal::not_found, Refusal::conflict});
}

} // namespace rdmanet::cluster
