// The address of a server.
#pragma once

#include <rdmanet/base/error.hpp>

#include <string>
#include <string_view>

namespace rdmanet::base {

/// The message never has a user, a password or a query in it.
class UrlError : public Error {
public:
    using Error::Error;
};

/// SCHEME://HOST[:PORT][/BASE], as a kubeconfig writes it.
struct Url {
    bool is_secure = true;
    std::string host; // a name or an address, without brackets
    std::string port;
    std::string base; // without a slash at its end; empty as a rule

    /// Throws UrlError for another scheme, user information, a query or a fragment.
    [[nodiscard]] static Url parse(std::string_view text);
    /// "https://[fd00::1]:6443", without the base.
    [[nodiscard]] std::string to_string() const;
    /// "[fd00::1]:6443".
    [[nodiscard]] std::string authority() const;
};

} // namespace rdmanet::base
