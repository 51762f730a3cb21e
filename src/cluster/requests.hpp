// Requests to the API server as the stores make them: what is refused and can't be helped is an ipam::StoreError with
// the fix, and every write names what it expects to find, and says what became of it.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/kube/api.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
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

/// As a part of a request's target: everything but unreserved characters by its number (RFC 3986, section 2).
[[nodiscard]] std::string percent_encoded(std::string_view text);
/// "PATH/NAME"
[[nodiscard]] std::string path_to(const std::string& path, const std::string& name);
[[nodiscard]] std::string quoted_json(std::string_view text);

struct Listing {
    std::string path; // with a query or without
    int page = 500;   // objects in one answer
    kube::Shape shape = kube::Shape::whole;
};

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

class Requests {
public:
    /// `api` must outlive it. `install`: what to do where the server does not know the kind; `grant`: where a right is
    /// missing, with the user behind it.
    Requests(kube::Api& api, std::string install, std::string grant = "grant that right to the user of the kubeconfig")
        : api_(api), install_(std::move(install)), grant_(std::move(grant)) {}

    [[nodiscard]] std::string server() const { return api_.server(); }

    /// nullopt: there is none.
    [[nodiscard]] std::optional<kube::Object> find(const std::string& path, const base::Deadline& deadline);
    /// What `parse` makes of it.
    template <class Parse>
    [[nodiscard]] auto find_parsed(const std::string& path, const base::Deadline& deadline, Parse parse)
        -> std::optional<decltype(parse(std::declval<const json::Reader&>()))> {
        const auto object = find(path, deadline);
        if (!object) return std::nullopt;
        try {
            return parse(object->content.root());
        } catch (const json::ValueError& error) {
            refuse_content(path, error);
        }
    }

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
    /// If the server forgets where a page ended (410), the list begins anew: `begin` is called before each beginning.
    /// False if the server does not know the kind.
    [[nodiscard]] bool for_each(const Listing& listing, const base::Deadline& deadline,
                                const std::function<void()>& begin,
                                const std::function<void(const json::Reader&)>& act);
    [[nodiscard]] kube::Outcome answered(const std::function<kube::Outcome()>& ask);
    [[nodiscard]] WriteOutcome write(const std::function<kube::Outcome()>& ask,
                                     std::initializer_list<kube::Refusal> means_no);
    [[noreturn]] void refuse(const kube::Refused& refused) const;
    [[noreturn]] void refuse_kind(const std::string& path) const;
    [[noreturn]] static void refuse_content(const std::string& path, const json::ValueError& error);

    kube::Api& api_;
    std::string install_;
    std::string grant_;
    std::optional<std::int64_t> date_;
};

} // namespace rdmanet::cluster
