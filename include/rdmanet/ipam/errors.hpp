// What keeps the allocator from giving an address.
#pragma once

#include <rdmanet/base/error.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace rdmanet::ipam {

/// The store refused. `temporary` if the same call may succeed later without anybody's help.
class StoreError : public base::Error {
public:
    enum class Kind : std::uint8_t { temporary, permanent };
    StoreError(Kind kind, std::string message) : Error(std::move(message)), kind_(kind) {}

    [[nodiscard]] bool temporary() const noexcept { return kind_ == Kind::temporary; }

private:
    Kind kind_;
};

/// The store's content can't be relied on. Nothing was changed; see SqliteStore::repair().
class DamagedStore : public StoreError {
public:
    explicit DamagedStore(std::string message) : StoreError(Kind::permanent, std::move(message)) {}
};

/// Every address of a range is given away, and none of the holders is provably dead.
class ExhaustedError : public base::Error {
public:
    using Error::Error;
};

/// An address that the pod asked for, or that the configuration names, belongs to someone else.
class RequestedAddressTaken : public base::Error {
public:
    using Error::Error;
};

/// An address that the pod asked for can't be given by this configuration.
class RequestedAddressInvalid : public base::Error {
public:
    using Error::Error;
};

} // namespace rdmanet::ipam
