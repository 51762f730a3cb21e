// Waiting for RDMA: the device is polled, as programs of RDMA do, so a wait must look at the time and at the other end
// by itself.
#pragma once

#include "channel.hpp"
#include "failure.hpp"

#include <rdmanet/base/deadline.hpp>

namespace rdmanet::verify {

class Watch {
public:
    Watch(Channel& channel, const base::Deadline& deadline) : channel_(channel), deadline_(deadline) {}

    /// Returns when `done()` is true. Throws Failure at the deadline, and if the other end says or does anything.
    template <class Done>
    void wait_until(const Done& done) {
        // Yielding the processor instead would let other programs decide about the latency.
        for (unsigned turns = 1; !done(); ++turns)
            if (turns % kTurnsPerLook == 0 && !look(done)) return;
    }

private:
    static constexpr unsigned kTurnsPerLook = 4096; // about a tenth of a millisecond, in which a look costs little

    /// Whether to wait on.
    template <class Done>
    bool look(const Done& done) {
        // A stage has no messages, so this one is a failure, or not a message at all. But if this end has finished
        // the stage by now, it is one of the next stage.
        if (channel_.has_news()) {
            if (done()) return false;
            (void)channel_.receive("failed", deadline_);
        }
        if (deadline_.passed())
            throw Failure("no packet of the other end has come in time",
                          "`ping` the other pod's address, check VLAN and MTU of the switches, or give more time with "
                          "`--seconds`",
                          Suspect::way);
        return true;
    }

    Channel& channel_;
    const base::Deadline& deadline_;
};

} // namespace rdmanet::verify
