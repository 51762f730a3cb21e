// What the other end must know of a queue pair and of the memory that it may write.
#pragma once

#include <array>
#include <cstdint>

namespace rdmanet::verify {

struct QueueAddress {
    std::uint32_t number = 0;       // of the queue pair
    std::uint32_t first_packet = 0; // packet sequence number
    std::uint16_t lid = 0;          // InfiniBand
    std::array<unsigned char, 16> gid{};
    bool needs_grh = false;   // InfiniBand: its port requires a global routing header
    std::uint32_t key = 0;    // of the memory
    std::uint64_t memory = 0; // its address in the other process
};

} // namespace rdmanet::verify
