// Events of the kernel's probes, as perf_event_open(2) delivers them.
#pragma once

#include "trace.hpp"

#include <rdmanet/base/unique_fd.hpp>

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace rdmanet::test {

/// An event of all processes on one processor.
class Event {
public:
    /// Throws base::SystemError.
    Event(int processor, perf_event_attr attributes);
    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::uint64_t id() const;

private:
    base::UniqueFd fd_;
};

/// All events of one processor, in the order of time.
class EventRing {
public:
    /// Begins with those of a process' life: exec, exit, and its turns on the processor.
    explicit EventRing(int processor);
    EventRing(const EventRing&) = delete;
    EventRing& operator=(const EventRing&) = delete;
    ~EventRing();

    void add(const perf_event_attr& attributes, What what, std::size_t function = 0);
    void forget_all() { control()->data_tail = control()->data_head; }
    /// What came since forget_all(). Throws base::Error if the ring was too small for it.
    [[nodiscard]] std::vector<Moment> take_moments_of(std::uint32_t process);

private:
    [[nodiscard]] perf_event_mmap_page* control() const { return static_cast<perf_event_mmap_page*>(memory_); }
    [[nodiscard]] std::vector<char> read(std::uint64_t at) const;
    void append(const std::vector<char>& record, std::uint32_t process, std::vector<Moment>& moments) const;

    int processor_;
    Event life_;
    void* memory_ = nullptr;
    std::vector<std::unique_ptr<Event>> events_;
    std::map<std::uint64_t, Moment> meaning_;
};

} // namespace rdmanet::test
