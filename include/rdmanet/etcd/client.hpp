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
    Failure(Kind kind, std::string message) : Error(std::move(message)), kind_(kind) {}

    [[nodiscard]] Kind kind() const noexcept { return kind_; }

private:
    Kind kind_;
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

class Client {
public:
    /// Connects to nobody.
    Client(Access access, Memory memory, http::Limits limits);
    ~Client();
    Client(Client&&) noexcept;
    Client& operator=(Client&&) = delete;

    /// The transaction, done once. What only reads is asked again, also of other members; a change is sent again only
    /// if it certainly has not been made. Throws Failure.
    [[nodiscard]] Answer run(const Transaction& transaction, const base::Deadline& deadline);

    [[nodiscard]] Memory& memory();

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rdmanet::etcd
