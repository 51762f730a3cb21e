// Features of a net device (checksums, segmentation, ...), through the kernel's ethtool family of generic netlink:
// Documentation/networking/ethtool-netlink.rst.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::kernel {

/// Bit B of word W stands for feature 32 * W + B. The numbers are the same as long as the kernel runs. Only the names
/// are the same in all kernels.
using FeatureSet = std::vector<std::uint32_t>;

struct Features {
    FeatureSet changeable; // driver and kernel allow a change
    FeatureSet wanted;     // requested, among the changeable ones
    FeatureSet active;     // on, whether requested or fixed
};

/// The features of `within` that only one of the two sets has; empty if there is none.
[[nodiscard]] FeatureSet difference(const FeatureSet& one, const FeatureSet& other, const FeatureSet& within);

/// Asks about interfaces of the namespace that it was opened in. Its requests throw as Socket's do.
class Ethtool {
public:
    /// Opens it in the calling thread's namespace. nullopt if the kernel lacks the family: before Linux 5.6, or built
    /// without.
    [[nodiscard]] static std::optional<Ethtool> find(const base::Deadline& deadline);

    /// nullopt if the kernel has no such request (before Linux 5.7).
    [[nodiscard]] std::optional<Features> find_features(unsigned ifindex);
    /// Requests the features of `which` that `wanted` has, and switches the others of `which` off. Success does not
    /// mean that the driver did it (ethnl_set_features(), net/ethtool/features.c).
    void want_features(unsigned ifindex, const FeatureSet& wanted, const FeatureSet& which);
    /// Names as in ethtool(8), separated by commas.
    [[nodiscard]] std::string names_of(unsigned ifindex, const FeatureSet& features);

private:
    Ethtool(Socket socket, int family) : socket_(std::move(socket)), family_(family) {}

    Socket socket_;
    int family_; // the number that the kernel gave the family
};

} // namespace rdmanet::kernel
