// A reliable connection (RC) between two queue pairs, with a buffer that the other end may write.
#pragma once

#include "queue_address.hpp"

#include <rdmanet/verify/endpoint.hpp>

#include <infiniband/verbs.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace rdmanet::verify {

// libibverbs' objects, each with one owner.
template <auto kClose>
struct CloseVerbs {
    template <class Object>
    void operator()(Object* object) const noexcept {
        (void)kClose(object); // it fails only for objects that others still use
    }
};
template <class Object, auto kClose>
using Verbs = std::unique_ptr<Object, CloseVerbs<kClose>>;

using Context = Verbs<ibv_context, ibv_close_device>;
using ProtectionDomain = Verbs<ibv_pd, ibv_dealloc_pd>;
using CompletionQueue = Verbs<ibv_cq, ibv_destroy_cq>;
using MemoryRegion = Verbs<ibv_mr, ibv_dereg_mr>;
using QueuePair = Verbs<ibv_qp, ibv_destroy_qp>;

class Connection {
public:
    static constexpr unsigned kLargest = 65536; // bytes of a message
    static constexpr unsigned kWindow = 128;    // requests that may be outstanding
    static constexpr unsigned kChain = 16;      // writes with one completion

    /// Opens the device of the endpoint and makes the objects. Throws Failure, base::SystemError.
    explicit Connection(const Endpoint& endpoint);

    [[nodiscard]] const QueueAddress& address() const { return address_; }
    /// Bytes: what the port can carry in a packet now.
    [[nodiscard]] unsigned mtu() const;

    /// Both ends must have connected before the first message. Packets have the smaller MTU of both ports. Throws
    /// Failure.
    void connect(const QueueAddress& peer, unsigned peers_mtu);

    /// What is sent: kLargest bytes.
    [[nodiscard]] unsigned char* outgoing() { return memory_.get(); }
    /// Where messages and the other end's writes arrive: kLargest bytes.
    [[nodiscard]] unsigned char* incoming() { return memory_.get() + kLargest; }

    /// The first bytes of outgoing(). Each causes a completion.
    void send(unsigned bytes);
    void receive(unsigned bytes);
    /// Writes `bytes` of outgoing() to the other end's incoming(), `count` times. Only the last causes a completion.
    void write(unsigned bytes, unsigned count);
    /// Completions since the last call. Throws Failure if one of them is an error.
    [[nodiscard]] unsigned completed();

private:
    struct Free {
        void operator()(unsigned char* memory) const noexcept { std::free(memory); } // NOLINT(*-no-malloc): aligned
    };

    void make_objects();
    void find_address(const Endpoint& endpoint);
    void change(ibv_qp_attr& attributes, int mask, const char* state);

    // In the order of making: the last is closed first.
    std::unique_ptr<unsigned char[], Free> memory_;
    Context context_;
    ibv_port_attr port_{};
    std::uint8_t port_number_;
    bool is_infiniband_;
    unsigned gid_index_;
    ProtectionDomain domain_;
    MemoryRegion region_;
    CompletionQueue completions_;
    QueuePair queue_;
    QueueAddress address_;
    QueueAddress peer_;
};

} // namespace rdmanet::verify
