#include "node_store.hpp"

#include "leases.hpp"

#include <rdmanet/attach/recorded_leases.hpp>

namespace rdmanet::attach {

NodeStore::NodeStore(const Node& node, const state::AttachmentStore& records)
    : node_(node), file_({.state_directory = node.state_directory,
                          .known_leases = [&] { return list_recorded_leases(records, node.boot_id); }}) {}

template <class Act>
auto NodeStore::repaired(const base::Deadline& deadline, Act act) {
    return repairing(file_, node_, deadline, act);
}

bool NodeStore::is_there() const {
    return file_.is_there();
}

std::vector<ipam::Lease> NodeStore::list_unrepaired(const base::Deadline& deadline) {
    return file_.list_all(deadline);
}

void NodeStore::release(const state::AttachmentKey& key, const base::Deadline& deadline) {
    repaired(deadline, [&] { return file_.release(owner_key(key), deadline); });
}

void NodeStore::withdraw(const state::AttachmentKey& key, const std::vector<ipam::Lease>& fresh,
                         const base::Deadline& deadline) {
    repaired(deadline, [&] { return file_.withdraw(owner_key(key), fresh, deadline); });
}

std::vector<ipam::Lease> NodeStore::find(const state::AttachmentKey& key, const base::Deadline& deadline) {
    return repaired(deadline, [&] { return file_.find(owner_key(key), deadline); });
}

std::vector<ipam::Lease> NodeStore::list(const base::Deadline& deadline) {
    return repaired(deadline, [&] { return file_.list_all(deadline); });
}

std::vector<ipam::Regained> NodeStore::regain(const std::vector<ipam::Lease>& leases, const base::Deadline& deadline) {
    return repaired(deadline, [&] { return file_.regain(leases, deadline); });
}

} // namespace rdmanet::attach
