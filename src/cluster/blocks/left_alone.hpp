// That this node has met blocks of this boot which its file does not know, and since when.
#pragma once

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/cluster/blocks_store.hpp>

#include <cstdint>
#include <optional>

namespace rdmanet::cluster {

/// An ADD that began before the state directory was emptied may still be about to use its address. It ends before this.
inline constexpr std::chrono::minutes kOngoingAdd{2};

class LeftAlone {
public:
    explicit LeftAlone(const BlocksStore::Options& options);

    /// By the clock of this boot, in seconds. nullopt: there are none.
    [[nodiscard]] std::optional<std::int64_t> since() const;
    /// Keeps an earlier time.
    void note(std::int64_t now) const;
    void forget() const { memory_.forget(); }

private:
    base::BootMemory memory_;
};

} // namespace rdmanet::cluster
