// Leases in etcd, one transaction for each ADD and each DEL, whatever the number of its addresses.
//
//   <prefix>/<space>/a/<address>                                    a lease
//   <prefix>/<space>/o/<network>/<container>/<interface>/<slot>     the same lease, by its owner
//   <prefix>/<space>/r/<range>                                      the store that gives the range's addresses
//   <prefix>/@nodes/<machine id>                                    a node: its name and boot, and boots before
//   <prefix>/@nodes/<machine id>/<pod's namespace>/<pod>/<network>/<interface>/<container>/<space>/<slot>
//                                                                   the keys of that lease, by node and pod
//
// The keys of a lease are written and removed together, so all of them always have one revision (of their last change).
//
// The node's key is a fence. Every claim tests its revision. Whoever writes the key anew knows that no claim of this
// node that was sent before can take effect any more, also one whose answer was lost.
//
// The range's key is another one. Every claim tests that it says "etcd". The first claim of a range writes it.
#pragma once

#include <rdmanet/etcd/client.hpp>
#include <rdmanet/ipam/store.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rdmanet::cluster {

/// Of one attachment: etcd takes 128 operations at once, and each address is up to four.
inline constexpr std::size_t kMostAddressesInEtcd = 32;

struct EtcdOptions {
    std::string prefix; // of all keys, without a slash at its end
    // This node. A lease of another one, or of the same machine id and another name, proves nothing here.
    std::string machine_id;
    std::string node_name;
    std::string boot_id;
    /// Address spaces in which an attachment may have leases. list_all() reads these.
    std::vector<std::string> spaces;
    /// These are the configuration's, because the record of the attachment is lost. So find() and release() also look in
    /// those in which this node has something for its container.
    bool are_spaces_guessed = false;
    /// Writes down that an address is about to be claimed. When it returns, the claim may be sent.
    std::function<void(const ipam::Lease&)> before_claim;
    std::function<void(const std::string&)> warn;
    /// A process that claimed for the attachment has not said what became of it. So release() looks again behind a fence,
    /// also if it has found something: a late claim for an attachment that held addresses already.
    bool has_open_claim = false;
};

/// Asks nobody anything yet. How this store differs from what ipam::Store says:
/// - reserve() begins its search anywhere in the range. Released addresses do not rest.
/// - If release() finds nothing, or there is an open claim, no claim of this node that was sent before can take effect
///   any more.
/// - find_predecessors() and list_local() are about this node. usage() reads no lease: etcd counts.
[[nodiscard]] std::unique_ptr<ipam::Store> make_etcd_store(etcd::Client client, EtcdOptions options);

} // namespace rdmanet::cluster
