// Questions to etcd and changes of it, with the refusals that a store may throw.
#pragma once

#include "free.hpp"
#include "keys.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/etcd/client.hpp>

#include <optional>
#include <string>
#include <utility>

namespace rdmanet::cluster {

class EtcdSession {
public:
    EtcdSession(etcd::Client client, std::string prefix) : client_(std::move(client)), keys_(std::move(prefix)) {}

    [[nodiscard]] const EtcdKeys& keys() const { return keys_; }
    /// What was said of the last change whose outcome was not known. Empty: there was none.
    [[nodiscard]] const std::string& last_unknown() const { return last_unknown_; }
    [[nodiscard]] etcd::Memory& memory() { return client_.memory(); }

    /// Of a transaction that only reads, or one that may be done twice. Throws ipam::StoreError.
    etcd::Answer run(const etcd::Transaction& transaction, const base::Deadline& deadline);
    [[nodiscard]] RunEtcd runner(const base::Deadline& deadline);

    /// nullopt if no answer says whether it was done. Throws ipam::StoreError, also for that at the deadline.
    [[nodiscard]] std::optional<etcd::Answer> try_to_change(const etcd::Transaction& change,
                                                            const base::Deadline& deadline);

    /// A change that tests the revision of all that it changes. It is sent until an answer says what became of it.
    struct Change {
        bool succeeded = false;          // the last time
        bool may_have_been_done = false; // an earlier time, without an answer
        std::int64_t revision = 0;       // of the answer
    };
    Change change(const etcd::Transaction& change, const base::Deadline& deadline);

    template <class Act>
    void for_each_below(const std::string& prefix, const base::Deadline& deadline, Act act) {
        for_each_page_below(prefix, deadline, [&](const std::vector<etcd::KeyValue>& entries) {
            for (const etcd::KeyValue& entry : entries) act(entry);
        });
    }
    template <class Act>
    void for_each_page_below(const std::string& prefix, const base::Deadline& deadline, Act act) {
        for_each_page_of(etcd::Range::below(prefix), deadline, std::move(act));
    }
    template <class Act>
    void for_each_page_of(etcd::Range range, const base::Deadline& deadline, Act act) {
        constexpr std::int64_t kKeysInPage = 1000;
        range.limit = kKeysInPage;
        for (;;) {
            const etcd::Answer answer = run(etcd::Transaction().read(range), deadline);
            const std::vector<etcd::KeyValue>& entries = answer.found[0].entries;
            if (entries.empty()) return;
            act(entries);
            if (answer.found[0].count <= entries.size()) return;
            range.key = entries.back().key + '\0';
        }
    }

private:
    etcd::Client client_;
    EtcdKeys keys_;
    std::string last_unknown_;
};

} // namespace rdmanet::cluster
