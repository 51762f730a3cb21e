#include "session.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/http/pause.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <chrono>

namespace rdmanet::cluster {
namespace {

using ipam::StoreError;

constexpr std::chrono::milliseconds kPause{50};

[[noreturn]] void refuse(const etcd::Failure& failure) {
    auto kind = failure.unreachable() ? StoreError::Kind::unreachable : StoreError::Kind::temporary;
    if (failure.kind() == etcd::Failure::Kind::permanent) kind = StoreError::Kind::permanent;
    throw StoreError(kind, fmt::format("lease store: {}", failure.what()));
}

} // namespace

etcd::Answer EtcdSession::run(const etcd::Transaction& transaction, const base::Deadline& deadline) {
    try {
        return client_.run(transaction, deadline);
    } catch (const etcd::Failure& failure) {
        refuse(failure);
    }
}

RunEtcd EtcdSession::runner(const base::Deadline& deadline) {
    return [this, deadline](const etcd::Transaction& transaction) { return run(transaction, deadline); };
}

std::optional<etcd::Answer> EtcdSession::try_to_change(const etcd::Transaction& change,
                                                       const base::Deadline& deadline) {
    try {
        return client_.run(change, deadline);
    } catch (const etcd::Failure& failure) {
        if (failure.kind() != etcd::Failure::Kind::unknown || deadline.passed()) refuse(failure);
        last_unknown_ = failure.what();
        return std::nullopt;
    }
}

EtcdSession::Change EtcdSession::change(const etcd::Transaction& change, const base::Deadline& deadline) {
    for (bool is_repeated = false;; is_repeated = true) {
        if (const auto answer = try_to_change(change, deadline))
            return {.succeeded = answer->succeeded, .may_have_been_done = is_repeated, .revision = answer->revision};
        http::pause(http::with_jitter(kPause));
    }
}

} // namespace rdmanet::cluster
