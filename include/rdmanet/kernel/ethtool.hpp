// Features of a net device (checksums, segmentation, ...), by the kernel's ethtool family of generic netlink:
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

/// Bit B of word W stands for feature 32 * W + B. The numbers are the same as long as the kernel runs; only names are
/// the same in all kernels.
using FeatureSet = std::vector<std::uint32_t>;

struct Features {
    FeatureSet changeable; // driver and kernel let them be changed
    FeatureSet wanted;     // of those: asked for
    FeatureSet active;     // on, be it by request or fixed
};

/// What of `within` only one of the two has; empty if that is nothing.
[[nodiscard]] FeatureSet difference(const FeatureSet& one, const FeatureSet& other, const FeatureSet& within);

/// Asks about interfaces of the namespace that it was opened in. Its requests throw as Socket's do.
class Ethtool {
public:
    /// In the calling thread's namespace; nullopt if the kernel lacks the family: before Linux 5.6, or built without.
    [[nodiscard]] static std::optional<Ethtool> find(const base::Deadline& deadline);

    /// nullopt if the kernel has no such request (before Linux 5.7).
    [[nodiscard]] std::optional<Features> find_features(unsigned ifindex);
    /// Asks for those of `which` that `wanted` has, and for the others of `which` to be off. Success doesn't say that
    /// the driver has done it (ethnl_set_features(), net/ethtool/features.c).
    void want_features(unsigned ifindex, const FeatureSet& wanted, const FeatureSet& which);
    /// As ethtool(8) calls them, separated by commas.
    [[nodiscard]] std::string names_of(unsigned ifindex, const FeatureSet& features);

private:
    Ethtool(Socket socket, int family) : socket_(std::move(socket)), family_(family) {}

    Socket socket_;
    int family_; // the number that the kernel has given it
};

} // namespace rdmanet::kernel
