#include <rdmanet/cluster/etcd_outside.hpp>

#include "values.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/etcd_range.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <utility>

namespace rdmanet::cluster {
namespace {

using base::Deadline;
using ipam::Interval;
using ipam::StoreError;

class EtcdOutside final : public OutsideStore {
public:
    EtcdOutside(etcd::Client client, std::string prefix) : client_(std::move(client)), prefix_(std::move(prefix)) {}

    [[nodiscard]] std::string name() const override { return kInEtcd; }

    [[nodiscard]] bool has_range(const Place& place, const Deadline& deadline) override {
        EtcdRange range = range_of(place);
        const EtcdRange::Record record = range.read(deadline);
        return record.store == kInEtcd || (record.revision == 0 && range.has_leases(deadline));
    }

    void require_range(const Place& place, const std::string& object, const Deadline& deadline) override {
        if (range_of(place).read(deadline).revision == 0) refuse_other_etcd(object);
    }

    void expect(const Place& place, const std::string& from, const Deadline& deadline) override {
        EtcdRange range = range_of(place);
        EtcdRange::Record record = range.read(deadline);
        if (record.revision == 0) range.prepare(from, record, deadline);
    }

    [[nodiscard]] std::vector<Interval> take(const Moving& moving, const Deadline& deadline) override {
        EtcdRange range = range_of(moving.place);
        if (range.read(deadline).revision == 0) refuse_other_etcd(moving.object);
        (void)range.take(moving.to, deadline);
        std::vector<Interval> all;
        for (const auto& [node, intervals] : range.leases(deadline))
            all.insert(all.end(), intervals.begin(), intervals.end());
        return ipam::merged(std::move(all));
    }

    /// The record is read before the AddressRange is. Who moves the range away changes the AddressRange first, and writes
    /// the record then, always: one of both sees the other.
    void leave_out(const Moving& moving, const std::vector<Interval>& held, const Deadline& deadline) override {
        EtcdRange range = range_of(moving.place);
        EtcdRange::Record record = range.read(deadline);
        if (!moving.is_still_so())
            throw StoreError(
                StoreError::Kind::temporary,
                fmt::format("lease store: others change AddressRange {}: run this command again", moving.object));
        if (record.revision == 0) refuse_other_etcd(moving.object);
        range.prepare(moving.from, record, deadline);
        (void)range.hold(fmt::format("AddressRange {}", moving.object), held, record, deadline);
        range.give(record, deadline);
    }

    [[nodiscard]] std::vector<Holder> describe(const Place& place, const Deadline& deadline) override {
        std::vector<Holder> holders;
        for (auto& [node, leases] : range_of(place).leases(deadline)) {
            const std::string who = node.empty() ? "a node that nobody can read" : fmt::format("node {}", node);
            holders.push_back(
                {.text = fmt::format("etcd, {}: {}", who, base::counted(leases.size(), "lease", "leases")),
                 .addresses = leases});
        }
        return holders;
    }

private:
    /// etcd records a range before it gives an address of it, and before its AddressRange names etcd.
    [[noreturn]] void refuse_other_etcd(const std::string& object) const {
        throw StoreError(
            StoreError::Kind::permanent,
            fmt::format("AddressRange {} says that the range is in store \"etcd\", and this etcd has nothing "
                        "of it below {}: use the \"endpoints\" and \"prefix\" that the nodes have; a range "
                        "cannot go from one etcd to another",
                        object, base::quoted(prefix_)));
    }
    [[nodiscard]] EtcdRange range_of(const Place& place) const { return {client_, prefix_, place}; }

    etcd::Client client_;
    std::string prefix_;
};

} // namespace

std::unique_ptr<OutsideStore> make_etcd_outside(etcd::Client client, std::string prefix) {
    return std::make_unique<EtcdOutside>(std::move(client), std::move(prefix));
}

} // namespace rdmanet::cluster
