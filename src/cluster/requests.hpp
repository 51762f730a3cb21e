// Requests to the API server as the stores make them: what is refused and can't be helped is an ipam::StoreError with
// the fix, and every write says what became of it.
#pragma once

#include "conditional.hpp"
#include "listing.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/kube/api.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::cluster {

/// The user of the kubeconfig lacks a right.
class MissingRight : public ipam::StoreError {
public:
    using StoreError::StoreError;
};
/// The server does not know this kind of objects.
class MissingKind : public ipam::StoreError {
public:
    using StoreError::StoreError;
};

/// Where a read comes from. The server's memory may be out of date: it may save work, and nothing is concluded from
/// what it lacks. etcd is what a request without a resourceVersion reads (Kubernetes API concepts, "Semantics for get
/// and list").
enum class From : std::uint8_t { memory, etcd };
[[nodiscard]] std::string from(std::string path, From source);

/// "PATH/NAME"
[[nodiscard]] std::string path_to(const std::string& path, const std::string& name);
[[nodiscard]] std::string quoted_json(std::string_view text);

class Requests {
public:
    /// `api` must outlive it. `install`: what to do where the server does not know the kind.
    Requests(kube::Api& api, std::string install) : api_(api), install_(std::move(install)) {}

    [[nodiscard]] kube::Api& api() const { return api_; }
    [[nodiscard]] std::string server() const { return api_.server(); }

    [[nodiscard]] std::optional<kube::Object> find(const std::string& path, const base::Deadline& deadline);

    /// What `parse` makes of the objects, or of the rows of a table, without those that it leaves out. nullopt if the
    /// server does not know the kind.
    template <class Element>
    [[nodiscard]] std::optional<std::vector<Element>>
    list_if_served(const Listing& listing, const base::Deadline& deadline,
                   const std::function<std::optional<Element>(const json::Reader&)>& parse) {
        std::vector<Element> all;
        const bool is_served = for_each(
            listing, deadline, [&] { all.clear(); },
            [&](const json::Reader& object) {
                if (auto element = parse(object)) all.push_back(*std::move(element));
            });
        return is_served ? std::optional(std::move(all)) : std::nullopt;
    }
    /// The same. Throws MissingKind.
    template <class Element>
    [[nodiscard]] std::vector<Element> list(const Listing& listing, const base::Deadline& deadline,
                                            const std::function<std::optional<Element>(const json::Reader&)>& parse) {
        if (auto all = list_if_served(listing, deadline, parse)) return *std::move(all);
        refuse_kind(listing.path);
    }

    /// The object as it would be. Nothing is written.
    [[nodiscard]] kube::Object try_to_create(const std::string& path, std::string body, const base::Deadline& deadline);

    // Each says `no` if what it expected is not there.

    [[nodiscard]] WriteOutcome create(const std::string& path, std::string body, const base::Deadline& deadline);
    [[nodiscard]] WriteOutcome patch(const std::string& path, Changes changes, const base::Deadline& deadline);
    [[nodiscard]] WriteOutcome remove(const std::string& path, const kube::Preconditions& preconditions,
                                      const base::Deadline& deadline);

    /// The server's clock at its last answer, seconds since the epoch.
    [[nodiscard]] std::optional<std::int64_t> date() const { return date_; }

private:
    [[nodiscard]] bool for_each(const Listing& listing, const base::Deadline& deadline,
                                const std::function<void()>& begin,
                                const std::function<void(const json::Reader&)>& act);
    [[nodiscard]] WriteOutcome write(const std::function<kube::Outcome()>& ask,
                                     std::initializer_list<kube::Refusal> means_no);
    [[noreturn]] void refuse(const kube::Refused& refused) const;
    [[noreturn]] void refuse_kind(const std::string& path) const;

    kube::Api& api_;
    std::string install_;
    std::optional<std::int64_t> date_;
};

} // namespace rdmanet::cluster
