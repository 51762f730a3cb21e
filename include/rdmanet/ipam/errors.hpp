// Why the allocator cannot give an address.
#pragma once

#include <rdmanet/base/error.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace rdmanet::ipam {

/// The store refused. `temporary` if the same call may succeed later without a change. `unreachable`: the same, and its
/// server has not answered, so that another request of this process would wait in vain.
class StoreError : public base::Error {
public:
    enum class Kind : std::uint8_t { temporary, unreachable, permanent };
    StoreError(Kind kind, std::string message) : Error(std::move(message)), kind_(kind) {}

    [[nodiscard]] bool temporary() const noexcept { return kind_ != Kind::permanent; }
    [[nodiscard]] bool unreachable() const noexcept { return kind_ == Kind::unreachable; }

private:
    Kind kind_;
};

/// The store's content is inconsistent. Nothing was changed; see LeaseFile::repair().
class DamagedStore : public StoreError {
public:
    explicit DamagedStore(std::string message) : StoreError(Kind::permanent, std::move(message)) {}
};

/// Every address of a range is leased, and no owner is provably dead.
class ExhaustedError : public base::Error {
public:
    using Error::Error;
};

/// A requested address, or one that the configuration sets, belongs to another owner.
class RequestedAddressTaken : public base::Error {
public:
    using Error::Error;
};

/// This configuration cannot give a requested address.
class RequestedAddressInvalid : public base::Error {
public:
    using Error::Error;
};

} // namespace rdmanet::ipam
