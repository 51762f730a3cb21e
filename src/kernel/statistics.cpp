#include <rdmanet/kernel/statistics.hpp>

#include <rdmanet/base/error.hpp>

#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace rdmanet::kernel {
namespace {

/// A structure of linux/ethtool.h with what follows it.
template <class Header>
class Request {
public:
    Request(Header header, std::size_t bytes) : words_((sizeof(Header) + bytes) / sizeof(std::uint64_t) + 1) {
        std::memcpy(words_.data(), &header, sizeof header);
    }

    /// False if the driver does not know the command, or the interface is gone.
    [[nodiscard]] bool send(int fd, const base::InterfaceName& interface) {
        ifreq request{};
        interface.to_string().copy(request.ifr_name, sizeof request.ifr_name - 1);
        request.ifr_data = words_.data();
        return ::ioctl(fd, SIOCETHTOOL, &request) == 0;
    }

    [[nodiscard]] Header header() const {
        Header header;
        std::memcpy(&header, words_.data(), sizeof header);
        return header;
    }

    [[nodiscard]] const char* data() const { return reinterpret_cast<const char*>(words_.data()) + sizeof(Header); }

private:
    std::vector<std::uint64_t> words_;
};

std::size_t count_statistics(int fd, const base::InterfaceName& interface) {
    Request<ethtool_sset_info> request({.cmd = ETHTOOL_GSSET_INFO, .reserved = 0, .sset_mask = 1ULL << ETH_SS_STATS},
                                       sizeof(std::uint32_t));
    if (!request.send(fd, interface) || request.header().sset_mask == 0) return 0;
    std::uint32_t count = 0;
    std::memcpy(&count, request.data(), sizeof count);
    constexpr std::uint32_t kMost = 1U << 16U; // mlx5 with 128 channels has some 10,000
    return count < kMost ? count : 0;
}

/// The kernel counts anew for each answer, and writes all that there is (ethtool_get_strings(), net/ethtool/ioctl.c).
/// Somebody may add queues in between.
std::size_t with_room_to_grow(std::size_t count) {
    return count * 2 + 4096;
}

} // namespace

StatisticsReader StatisticsReader::open() {
    base::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd) throw base::SystemError("open a socket for ethtool", errno);
    return StatisticsReader(std::move(fd));
}

StatisticsReader StatisticsReader::open_in(const Netns& netns) {
    const NetnsScope scope(netns);
    return open();
}

std::vector<Statistic> StatisticsReader::list(const base::InterfaceName& interface) const {
    const std::size_t count = count_statistics(fd_.get(), interface);
    const std::size_t room = with_room_to_grow(count);
    if (count == 0) return {};
    Request<ethtool_gstrings> names(
        {.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = static_cast<std::uint32_t>(count)},
        room * ETH_GSTRING_LEN);
    Request<ethtool_stats> values({.cmd = ETHTOOL_GSTATS, .n_stats = static_cast<std::uint32_t>(count)},
                                  room * sizeof(std::uint64_t));
    if (!names.send(fd_.get(), interface) || !values.send(fd_.get(), interface)) return {};
    if (names.header().len != values.header().n_stats || names.header().len > room) return {};
    std::vector<Statistic> all;
    for (std::size_t at = 0; at < names.header().len; ++at) {
        const char* name = names.data() + at * ETH_GSTRING_LEN;
        Statistic statistic{.name = std::string(name, ::strnlen(name, ETH_GSTRING_LEN))};
        std::memcpy(&statistic.value, values.data() + at * sizeof(std::uint64_t), sizeof statistic.value);
        all.push_back(std::move(statistic));
    }
    return all;
}

} // namespace rdmanet::kernel
