// Transactions on an etcd cluster through its JSON gateway, on whichever of its members answers.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/etcd/memory.hpp>
#include <rdmanet/etcd/transaction.hpp>
#include <rdmanet/http/client.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rdmanet::etcd {

/// Why there is no answer. The message names the endpoints, what failed there and for how long it was tried. It never
/// has a password or token in it.
class Failure : public base::Error {
public:
    enum class Kind : std::uint8_t {
        temporary, // nothing was changed; the same may succeed later
        permanent, // nothing was changed, and nothing will be until somebody changes something else
        unknown,   // the change may have been made, or be made later
    };
    enum class Heard : std::uint8_t { from_etcd, from_nobody };
    Failure(Kind kind, std::string message, Heard heard = Heard::from_etcd)
        : Error(std::move(message)), kind_(kind), heard_(heard) {}

    [[nodiscard]] Kind kind() const noexcept { return kind_; }
    /// No member has answered, so that another request of this process would wait in vain.
    [[nodiscard]] bool unreachable() const noexcept { return heard_ == Heard::from_nobody; }

private:
    Kind kind_;
    Heard heard_;
};

/// As configured. Files are paths.
struct Servers {
    std::vector<std::string> endpoints;
    std::string ca;
    std::string certificate;
    std::string key;
    std::string username;
    std::string password_file;
};

struct Access {
    std::vector<http::Url> endpoints;
    http::TlsSettings tls;
    std::string username; // empty: etcd is asked without a login
    std::string password;
};

/// Reads the files. Throws Failure (permanent).
[[nodiscard]] Access read_access(const Servers& servers);

/// Copies share their connections.
class Client {
public:
    /// Connects to nobody.
    Client(Access access, Memory memory, http::Limits limits);

    /// The transaction, done once. What only reads is asked again, also of other members; a change is sent again only
    /// if it certainly has not been made. A member that was silent is left out from then on, until no other answers: then
    /// this fails, and the next call begins anew. Throws Failure.
    [[nodiscard]] Answer run(const Transaction& transaction, const base::Deadline& deadline);

    [[nodiscard]] Memory& memory();

private:
    class Impl;
    std::shared_ptr<Impl> impl_;
};

} // namespace rdmanet::etcd
